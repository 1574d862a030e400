import type { Dag } from "../dag.ts";
import { assemble, type OperatorDraft } from "./assemble.ts";
import { DotLexer, type DotToken } from "./dot-lexer.ts";
import { quoted } from "./errors.ts";
import { checkOptions, type LayoutOptions, refuse } from "./layout.ts";
import { Source } from "./source.ts";

export interface DotOptions extends LayoutOptions {
  /** Of the attribute `duration`; above 0. Default 1: it is in nanoseconds. */
  readonly timeUnitNs?: number;
}

/**
 * A graph of operators in DOT: one `digraph` of node and edge statements. A node is an operator, with the attributes
 * `duration` (needed), `bytes` (of its output, default 0) and `accelerator`; `node [ ]` sets them for the nodes first met after
 * it. An edge leads from an operator to one that reads its output. All other attributes are drawing, and ignored. Subgraphs,
 * undirected graphs, ports, HTML strings and joined strings are refused as UNSUPPORTED. Throws `FormatError` with line and
 * column. Linear in the content, plus the layout.
 */
export function readDot(content: string | Uint8Array, options: DotOptions = {}): Dag {
  const { timeUnitNs = 1 } = options;
  checkOptions(options);
  if (!(timeUnitNs > 0 && Number.isFinite(timeUnitNs)))
    refuse(`timeUnitNs is ${timeUnitNs}; it must be above 0 and finite`);
  const source: Source = new Source(content);
  const nodes = readDigraph(new DotLexer(source));
  const drafts = [...nodes].map(([name, node]) => draftOf(source, name, node, timeUnitNs));
  return assemble(source, drafts, { accelerators: null, link: null }, options);
}

const ATTRIBUTES = ["duration", "bytes", "accelerator"] as const;
type Attribute = (typeof ATTRIBUTES)[number];
interface Value {
  readonly text: string;
  readonly at: number;
}
type Values = Map<Attribute, Value>;

interface DotNode {
  readonly at: number;
  /** What `node [ ]` said when the node was first met. */
  readonly defaults: ReadonlyMap<Attribute, Value>;
  readonly values: Values;
  readonly inputs: { name: string; at: number }[];
}

function readDigraph(lexer: DotLexer): ReadonlyMap<string, DotNode> {
  const source: Source = lexer.source;
  if (lexer.isKeyword("strict")) lexer.next();
  const { at } = lexer.peek();
  if (lexer.isKeyword("graph")) source.fail("UNSUPPORTED", at, "undirected graphs are not read; write digraph and ->");
  if (!lexer.isKeyword("digraph")) lexer.unexpected("digraph");
  lexer.next();
  if (lexer.peek().kind === "id") lexer.next();
  lexer.expect("{", "at the beginning of the graph");
  const graph: Graph = { nodes: new Map(), defaults: new Map() };
  while (!lexer.take("}")) {
    readStatement(lexer, graph);
    lexer.take(";");
  }
  if (lexer.peek().kind !== "end") lexer.unexpected("the end of the content, after one graph");
  return graph.nodes;
}

interface Graph {
  readonly nodes: Map<string, DotNode>;
  /** Never changed, only replaced: nodes keep the one they were met with. */
  defaults: ReadonlyMap<Attribute, Value>;
}

function readStatement(lexer: DotLexer, graph: Graph): void {
  const { kind, text, at } = lexer.peek();
  if (lexer.isKeyword("subgraph") || (kind === "punctuation" && text === "{"))
    lexer.source.fail("UNSUPPORTED", at, "subgraphs are not read; write their statements in the graph itself");
  if (lexer.isKeyword("node")) {
    lexer.next();
    const values: Values = new Map();
    readAttributes(lexer, values, "node");
    graph.defaults = new Map([...graph.defaults, ...values]);
    return;
  }
  if (lexer.isKeyword("edge") || lexer.isKeyword("graph")) {
    const { text: what } = lexer.next();
    readAttributes(lexer, new Map(), what.toLowerCase() === "edge" ? "edge" : "graph");
    return;
  }
  const first = lexer.id("a statement");
  if (lexer.take("=")) lexer.id(`the value of ${quoted(first.text)}`);
  else readNodeOrEdges(lexer, graph, first);
}

function readNodeOrEdges(lexer: DotLexer, graph: Graph, first: DotToken): void {
  let from = first;
  let node = meet(lexer, graph, first);
  let isEdge = false;
  while (lexer.take("->")) {
    const { kind, text, at } = lexer.peek();
    if (lexer.isKeyword("subgraph") || (kind === "punctuation" && text === "{"))
      lexer.source.fail("UNSUPPORTED", at, "edges to subgraphs are not read; write one edge for each of their nodes");
    const to = lexer.id("the node that the edge leads to");
    const target = meet(lexer, graph, to);
    target.inputs.push({ name: from.text, at: from.at });
    from = to;
    node = target;
    isEdge = true;
  }
  const { kind, text } = lexer.peek();
  if (kind !== "punctuation" || text !== "[") return;
  if (isEdge) readAttributes(lexer, new Map(), "edge");
  else readAttributes(lexer, node.values, "node");
}

/** The node of this name, which may come up here for the first time. */
function meet(lexer: DotLexer, graph: Graph, { text, at, isBare }: DotToken): DotNode {
  const source: Source = lexer.source;
  if (isBare && /^(?:node|edge|graph|digraph|strict|subgraph)$/i.test(text))
    source.fail("SYNTAX", at, `${text} is a keyword of DOT; in quotes it is a name`);
  source.requireName(text, at, "a node");
  const { kind, text: after, at: portAt } = lexer.peek();
  if (kind === "punctuation" && after === ":") source.fail("UNSUPPORTED", portAt, "ports of nodes are not read");
  const known = graph.nodes.get(text);
  if (known !== undefined) return known;
  const node: DotNode = { at, defaults: graph.defaults, values: new Map(), inputs: [] };
  graph.nodes.set(text, node);
  return node;
}

/** Lists in brackets, one after another. Ours are kept for a node and refused elsewhere. */
function readAttributes(lexer: DotLexer, values: Values, what: "node" | "edge" | "graph"): void {
  lexer.expect("[", `after ${quoted(what)}`);
  do {
    while (!lexer.take("]")) {
      const { text: name, at } = lexer.id("an attribute");
      lexer.expect("=", `after the attribute ${quoted(name)}`);
      const value = lexer.id(`the value of ${quoted(name)}`);
      if (!lexer.take(",")) lexer.take(";");
      keep(lexer.source, values, what, { name, at }, value);
    }
  } while (lexer.take("["));
}

function keep(
  source: Source,
  values: Values,
  what: "node" | "edge" | "graph",
  { name, at }: { readonly name: string; readonly at: number },
  value: Value,
): void {
  const attribute = ATTRIBUTES.find((known) => known === name);
  if (attribute === undefined) {
    if (/^(?:duration|.*bytes|accelerator)/i.test(name))
      source.fail("UNKNOWN_FIELD", at, `there is no attribute ${quoted(name)}; there are ${ATTRIBUTES.join(", ")}`, {
        name,
      });
    return;
  }
  if (what !== "node")
    source.fail(
      "UNKNOWN_FIELD",
      at,
      `${attribute} belongs to a node: ${what === "edge" ? "what an edge moves is the output of its first node" : "write it there"}`,
      { name },
    );
  if (values.has(attribute))
    source.fail("DUPLICATE_FIELD", at, `the attribute ${attribute} of this node is given twice`, { name });
  values.set(attribute, { text: value.text, at: value.at });
}

function draftOf(source: Source, name: string, node: DotNode, timeUnitNs: number): OperatorDraft {
  const value = (attribute: Attribute) => node.values.get(attribute) ?? node.defaults.get(attribute);
  const duration = value("duration");
  if (duration === undefined)
    source.fail("MISSING_FIELD", node.at, `operator ${quoted(name)} has no attribute duration`, { operator: name });
  const time = numberOf(source, duration, "duration", "INVALID_DURATION");
  const bytes = value("bytes");
  const accelerator = value("accelerator");
  return {
    at: node.at,
    name,
    inputs: node.inputs,
    workspaceBytes: 0,
    rank: 0,
    durationNs: source.requireDuration(Math.round(time * timeUnitNs), duration.at, `the duration of ${quoted(name)}`),
    outputBytes:
      bytes === undefined
        ? 0
        : source.requireBytes(numberOf(source, bytes, "bytes", "INVALID_BYTES"), bytes.at, "bytes"),
    accelerator:
      accelerator === undefined
        ? null
        : { name: source.requireName(accelerator.text, accelerator.at, "an accelerator"), at: accelerator.at },
  };
}

function numberOf(
  source: Source,
  { text, at }: Value,
  what: string,
  code: "INVALID_DURATION" | "INVALID_BYTES",
): number {
  if (/^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text);
  source.fail(code, at, `${what} is ${quoted(text)}; it must be a number`);
}
