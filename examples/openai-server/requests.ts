/** Bodies of clients, read with care: what is not understood is refused by name, and never silently without effect on the result. */
import { OpenAiError } from "./openai-error.ts";
import { encode } from "./tokenizer.ts";

/** What is to be generated, for both kinds of completions. */
export interface Job {
  readonly kind: "chat" | "text";
  readonly prompts: readonly (readonly number[])[];
  readonly maxTokens: number;
  readonly stops: readonly string[];
  readonly streams: boolean;
  readonly streamsUsage: boolean;
  readonly priority: "online" | "offline";
  readonly serviceTier: "default" | "flex";
}

export interface Limits {
  readonly model: string;
  readonly contextTokens: number;
  readonly promptsMax: number;
}

type Body = Readonly<Record<string, unknown>>;

/** With these values, or without them, they change nothing: tokens are always the most likely ones, there are no tools, and nothing is kept. */
const HARMLESS: Readonly<Record<string, (value: unknown) => boolean>> = {
  temperature: (value) => typeof value === "number" && value >= 0 && value <= 2,
  top_p: (value) => typeof value === "number" && value >= 0 && value <= 1,
  seed: Number.isInteger,
  presence_penalty: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  n: (value) => value === 1,
  best_of: (value) => value === 1,
  echo: (value) => value === false,
  logprobs: (value) => value === false || value === 0,
  store: (value) => value === false,
  parallel_tool_calls: (value) => typeof value === "boolean",
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  top_logprobs: (value) => value === 0,
  suffix: (value) => value === "",
  tool_choice: (value) => value === "none" || value === "auto",
  modalities: (value) => Array.isArray(value) && value.every((it) => it === "text"),
  safety_identifier: (value) => typeof value === "string",
  prompt_cache_key: (value) => typeof value === "string",
  tools: (value) => Array.isArray(value) && value.length === 0,
  response_format: (value) => isObject(value) && value["type"] === "text",
  user: (value) => typeof value === "string",
  metadata: isObject,
};

const UNDERSTOOD = ["model", "stream", "stream_options", "stop", "service_tier", "max_tokens"];
const STOPS_MAX = 4;
const DEFAULT_TOKENS = 16;

export function readCompletion(body: unknown, limits: Limits): Job {
  const fields = fieldsOf(body, ["prompt"], limits);
  const { prompt } = fields;
  const prompts = Array.isArray(prompt) && !prompt.every(isToken) ? prompt : [prompt];
  if (prompts.length === 0 || prompts.length > limits.promptsMax)
    throw wrong("prompt", `between 1 and ${limits.promptsMax} prompts can be completed at a time`);
  return jobOf("text", fields, prompts.map(promptOf), limits);
}

export function readChat(body: unknown, limits: Limits): Job {
  const fields = fieldsOf(body, ["messages", "max_completion_tokens"], limits);
  const { messages } = fields;
  if (!Array.isArray(messages) || messages.length === 0)
    throw wrong("messages", "messages has to be a list of at least one message");
  const lines = messages.map((message, index) => lineOf(message, `messages[${index}]`));
  return jobOf("chat", fields, [encode(`${lines.join("")}assistant: `)], limits);
}

function jobOf(kind: Job["kind"], fields: Body, prompts: readonly number[][], limits: Limits): Job {
  const { contextTokens } = limits;
  // Each that is sent has to be right, also the older one, which the newer one overrides.
  const older = countOf(fields, "max_tokens");
  const asked = countOf(fields, "max_completion_tokens") ?? older ?? DEFAULT_TOKENS;
  for (const prompt of prompts) {
    if (prompt.length === 0) throw wrong("prompt", "a prompt has at least one token");
    if (prompt.length + asked > contextTokens) {
      const message = `this model's context has ${contextTokens} tokens; the prompt has ${prompt.length} and ${asked} were asked for`;
      throw new OpenAiError(400, message, {
        code: "context_length_exceeded",
        param: kind === "chat" ? "messages" : "prompt",
      });
    }
  }
  const { stream = false, stream_options: options } = fields;
  if (typeof stream !== "boolean") throw wrong("stream", "stream has to be true or false");
  if (options !== undefined && options !== null && !(stream && isObject(options)))
    throw wrong("stream_options", "stream_options goes with stream: true only");
  const isPatient = isTierPatient(fields["service_tier"]);
  return {
    kind,
    prompts,
    maxTokens: asked,
    stops: stopsOf(fields["stop"]),
    streams: stream,
    streamsUsage: isObject(options) && options["include_usage"] === true,
    priority: isPatient ? "offline" : "online",
    serviceTier: isPatient ? "flex" : "default",
  };
}

function countOf(fields: Body, param: string): number | null {
  const count = fields[param] ?? null;
  if (count === null) return null;
  if (typeof count !== "number" || !Number.isInteger(count) || count < 1)
    throw wrong(param, `${param} has to be a whole number from 1`);
  return count;
}

/** `flex` and `batch` wait for slices that others leave. */
function isTierPatient(tier: unknown): boolean {
  if (tier === undefined || tier === null || tier === "auto" || tier === "default" || tier === "priority") return false;
  if (tier === "flex" || tier === "batch") return true;
  throw wrong("service_tier", 'service_tier has to be "auto", "default", "priority", "flex" or "batch"');
}

function fieldsOf(body: unknown, more: readonly string[], { model }: Limits): Body {
  if (!isObject(body)) throw new OpenAiError(400, "the body has to be a JSON object");
  for (const [name, value] of Object.entries(body)) {
    if (value === null || UNDERSTOOD.includes(name) || more.includes(name)) continue;
    const isHarmless = Object.hasOwn(HARMLESS, name) ? HARMLESS[name] : undefined;
    if (isHarmless === undefined)
      throw new OpenAiError(400, `this server does not understand ${name}`, { code: "unknown_parameter", param: name });
    if (!isHarmless(value))
      throw new OpenAiError(400, `this server does not support this value of ${name}`, {
        code: "unsupported_value",
        param: name,
      });
  }
  if (body["model"] === undefined) throw wrong("model", "name the model");
  if (body["model"] !== model)
    throw new OpenAiError(404, `there is no model ${JSON.stringify(body["model"])}; there is ${model}`, {
      code: "model_not_found",
      param: "model",
    });
  return body;
}

function promptOf(prompt: unknown): number[] {
  if (typeof prompt === "string") return encode(prompt);
  if (Array.isArray(prompt) && prompt.length > 0 && prompt.every(isToken)) return prompt;
  throw wrong("prompt", "a prompt has to be a string");
}

/** Tokens are only given by who knows the tokenizer: numbers of characters, see tokenizer.ts. */
function isToken(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 96;
}

function lineOf(message: unknown, where: string): string {
  const { role, content } = isObject(message) ? message : {};
  if (typeof role !== "string" || !ROLES.includes(role))
    throw wrong(where, `${where}.role has to be one of ${ROLES.join(", ")}`);
  const parts = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => (isObject(part) && part["type"] === "text" ? part["text"] : part));
  if (!texts.every((text) => typeof text === "string")) throw wrong(where, `${where}.content has to be text`);
  return `${role}: ${texts.join("")}\n`;
}

const ROLES = ["system", "developer", "user", "assistant"];

function stopsOf(stop: unknown): string[] {
  if (stop === undefined || stop === null) return [];
  const stops = Array.isArray(stop) ? stop : [stop];
  if (stops.length > STOPS_MAX || !stops.every((text) => typeof text === "string" && text !== ""))
    throw wrong("stop", `stop has to be a text, or a list of at most ${STOPS_MAX}`);
  return stops;
}

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(param: string, message: string): OpenAiError {
  return new OpenAiError(400, message, { param });
}
