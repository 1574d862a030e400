import type { Executor, ExecutorEvent, ExecutorInstruction, ExecutorManifest } from "@slicescheduler/executor";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";
import { DeviceBooks } from "../device-books.ts";
import { ConformanceFailure } from "./failure.ts";
import { Patience } from "./patience.ts";
import { ALWAYS, type Breach, type Rule } from "./rules.ts";
import type { ConformanceBackend } from "./types.ts";
import { EventWatch } from "./watch.ts";
import { eventWords, instructionWords, subjectOf } from "./words.ts";
import { WorkNumbers } from "./work.ts";

/** What is the same for every check of a suite. */
export interface SceneSettings {
  readonly manifest: ExecutorManifest;
  readonly templates: readonly TemplateSpec[];
  readonly timeoutMs: number;
  readonly quietMs: number;
}

export interface SceneOptions {
  /** Whether transfers are activated as soon as they can be; otherwise the check does it. Default true. */
  readonly moves?: boolean;
  /** Indices of accelerators that are not there at first. Default none. */
  readonly absent?: readonly number[];
  /** Default: small numbers, in ranges apart from each other. */
  readonly numbers?: WorkNumbers;
  /** Whether books of memory are kept of what is said. Default false. */
  readonly keepsBooks?: boolean;
}

export type EventType = ExecutorEvent["type"];
/** An event by its type, and by what it is about: an issue, a transfer, an accelerator, or transfers with commas. */
export type EventKey = readonly [EventType, number | string];

interface Answer {
  readonly key: EventKey;
  readonly answer: () => readonly ExecutorInstruction[];
  /** What has to wait until it is given. */
  readonly letGo: (() => void) | undefined;
}

/** Lines of what was said that a failure shows. */
const LINES_MAX = 16;
/** A backend in simulated time that still has something to do after so many steps never comes to rest. */
const STEPS_MAX = 100_000;

/**
 * One backend under a master that does as it is told: what a check says goes to the backend, what the backend says is kept and held
 * against the rules that hold at any moment.
 */
export class Scene {
  readonly backend: ConformanceBackend;
  readonly executor: Executor;
  readonly books: DeviceBooks | null;
  readonly cluster: ClusterSpec;
  readonly settings: SceneSettings;
  readonly numbers: WorkNumbers;
  readonly events: ExecutorEvent[] = [];
  readonly #rule: Rule;
  readonly #watch: EventWatch;
  readonly #patience = new Patience();
  readonly #lines: string[] = [];
  readonly #moves: boolean;
  readonly #counts = new Map<string, number>();
  readonly #sizes = new Map<number, ExecutorInstruction>();
  #answers: Answer[] = [];
  #depth = 0;
  #closed: boolean = false;
  #breach: Breach | null = null;
  #cause: unknown;
  /** What a check threw from within an event. */
  #thrown: { readonly error: unknown } | null = null;

  constructor(
    rule: Rule,
    backend: ConformanceBackend,
    cluster: ClusterSpec,
    settings: SceneSettings,
    options: SceneOptions,
  ) {
    this.#rule = rule;
    this.backend = backend;
    this.cluster = cluster;
    this.settings = settings;
    this.numbers = options.numbers ?? new WorkNumbers();
    this.#moves = options.moves ?? true;
    this.books = options.keepsBooks === true ? new DeviceBooks(cluster, settings.templates) : null;
    this.executor = this.books?.overhear(backend.executor) ?? backend.executor;
    const { simulatedTime, runsAhead = false } = settings.manifest;
    this.#watch = new EventWatch(simulatedTime, runsAhead, options.absent ?? []);
  }

  /** Opens the backend and registers the templates. */
  open(): void {
    this.attempt("open", () => this.executor.open({ cluster: this.cluster, deliver: (event) => this.#hear(event) }));
    this.execute(...this.settings.templates.map((template) => ({ type: "registerTemplate", template }) as const));
  }

  /** Gives instructions that a correct master gives. */
  execute(...instructions: readonly ExecutorInstruction[]): void {
    this.#throwBreach();
    this.#carryOut(instructions);
    this.#throwBreach();
  }

  /** Something else that has to work. */
  attempt(what: string, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#breaks(
        { ...ALWAYS.accepts, expected: `${what} is carried out`, seen: `it threw ${errorWords(error)}` },
        error,
      );
    }
    this.#throwBreach();
  }

  /**
   * Gives an instruction that no correct master gives, and that has to be refused with one of these codes.
   * @param before Instructions ahead of it in the batch, which have to be carried out.
   */
  refuses(codes: readonly string[], wrong: ExecutorInstruction, before: readonly ExecutorInstruction[] = []): void {
    this.#throwBreach();
    for (const instruction of [...before, wrong]) this.#say(`→ ${wordsOf(instruction)}`);
    const expected = `${wordsOf(wrong)} is refused with an error of the code ${codes.join(" or ")}`;
    let thrown: unknown;
    if (before.length > 0) this.#watch.told(before, this.executor.clock.nowNs(), false);
    try {
      this.executor.execute([...before, wrong]);
    } catch (error) {
      thrown = error;
      this.#say(`← threw ${errorWords(error)}`);
    }
    if (thrown === undefined) this.fail(expected, "it was taken");
    if (!codes.includes(codeOf(thrown))) this.fail(expected, `it threw ${errorWords(thrown)}`);
    this.#throwBreach();
  }

  /** Answers an event from within its delivery, once. */
  when(key: EventKey, answer: () => readonly ExecutorInstruction[]): void {
    const [type, subject] = key;
    const isToWait =
      this.settings.manifest.runsAhead === true && type === "operatorStarted" && typeof subject === "number";
    this.#answers.push({ key, answer, letGo: isToWait ? this.backend.holdOperator?.(subject) : undefined });
  }

  /** How often an event was heard. */
  count(type: EventType, subject: number | string): number {
    return this.#counts.get(`${type} ${subject}`) ?? 0;
  }

  has(type: EventType, subject: number | string): boolean {
    return this.count(type, subject) > 0;
  }

  /** The first event of this type about this. Fails when it was not heard. */
  find<Type extends EventType>(type: Type, subject: number | string): Extract<ExecutorEvent, { readonly type: Type }> {
    const found = this.events.find(
      (event): event is Extract<ExecutorEvent, { readonly type: Type }> =>
        event.type === type && isAbout(event, subject),
    );
    return found ?? this.fail(`${type} ${subject}`, "it was not heard");
  }

  /** Waits until all of these were heard. */
  async hears(...keys: readonly EventKey[]): Promise<void> {
    const missing = () => keys.filter(([type, subject]) => !this.has(type, subject));
    await this.until(
      () => missing().length === 0,
      () =>
        missing()
          .map((key) => key.join(" "))
          .join(", "),
    );
  }

  async done(...issues: readonly { readonly issueNumber: number }[]): Promise<void> {
    await this.hears(...issues.map(({ issueNumber }) => ["operatorDone", issueNumber] as const));
  }

  /** Something happened that is no event, and that a check waits for. */
  noticed(): void {
    this.#patience.heard();
  }

  /** Waits until something is so that has to become so. */
  async until(isSo: () => boolean, expected: () => string): Promise<void> {
    for (let steps = 0; ; steps++) {
      this.#throwBreach();
      if (isSo()) return;
      if (steps > STEPS_MAX) this.fail(expected(), `not after ${STEPS_MAX} steps`);
      if (await this.#goOn(this.settings.timeoutMs)) continue;
      this.#throwBreach();
      if (isSo()) return;
      this.fail(
        expected(),
        this.backend.step === undefined
          ? `nothing was heard within ${this.settings.timeoutMs} ms`
          : "nothing is left to happen",
      );
    }
  }

  /** Waits until nothing more happens. */
  async quiet(): Promise<void> {
    for (let steps = 0; await this.#goOn(this.settings.quietMs); steps++) {
      this.#throwBreach();
      if (steps > STEPS_MAX) this.fail("an end of what happens", `more after ${STEPS_MAX} steps`);
    }
    this.#throwBreach();
  }

  /** Fails unless the events were heard, in this order, whatever came between. */
  inOrder(...keys: readonly EventKey[]): void {
    const heard = this.events.map((event) => `${event.type} ${subjectOf(event)}`);
    const places = keys.map((key) => heard.indexOf(key.join(" ")));
    const isInOrder = places.every((place, at) => place >= 0 && (at === 0 || (places[at - 1] ?? 0) < place));
    if (isInOrder) return;
    const wanted = keys.map((key) => key.join(" "));
    const found = heard.filter((words) => wanted.includes(words));
    this.fail(wanted.join(", then "), found.length === 0 ? "none of them" : found.join(", then "));
  }

  /** Fails when one of these was heard. */
  silent(why: string, ...keys: readonly EventKey[]): void {
    for (const [type, subject] of keys) if (this.has(type, subject)) this.fail(why, `${type} ${subject}`);
  }

  expect(isSo: boolean, expected: string, seen: string): void {
    if (!isSo) this.fail(expected, seen);
  }

  fail(expected: string, seen: string): never {
    throw this.#failure({ ...this.#rule, expected, seen });
  }

  /** Ends the scene; what is heard after this is a breach. */
  close(): void {
    this.attempt("close", () => this.executor.close());
    this.#closed = true;
  }

  #carryOut(instructions: readonly ExecutorInstruction[]): void {
    for (const instruction of instructions) {
      this.#say(`→ ${instructionWords(instruction)}`);
      if (instruction.type === "issue") this.#plan(instruction);
    }
    this.#watch.told(instructions, this.executor.clock.nowNs(), this.#depth > 0);
    try {
      this.executor.execute(instructions);
    } catch (error) {
      const expected = `${instructions.map(instructionWords).join("; ")} is carried out`;
      this.#breaks({ ...ALWAYS.accepts, expected, seen: `it threw ${errorWords(error)}` }, error);
    }
  }

  #hear(event: ExecutorEvent): void {
    this.#say(`← ${eventWords(event)}`);
    if (this.#depth > 0)
      this.#breaks({
        ...ALWAYS.nested,
        expected: "the event after the one that is being delivered",
        seen: eventWords(event),
      });
    if (this.#closed) this.#breaks({ ...ALWAYS.afterClose, expected: "silence", seen: eventWords(event) });
    this.events.push(event);
    const key = `${event.type} ${subjectOf(event)}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#watch.heard(event, this.executor.clock.nowNs());
    this.#depth++;
    try {
      for (const { answer, letGo } of this.#answersTo(event)) {
        const instructions = answer();
        if (instructions.length > 0) this.#carryOut(instructions);
        letGo?.();
      }
    } catch (error) {
      // It is the check's, and not for the backend that delivers.
      this.#thrown ??= { error };
    } finally {
      this.#depth--;
    }
    this.#patience.heard();
  }

  #answersTo(event: ExecutorEvent): readonly Pick<Answer, "answer" | "letGo">[] {
    const answers = this.#answers.filter(({ key }) => key[0] === event.type && isAbout(event, key[1]));
    this.#answers = this.#answers.filter((answer) => !answers.includes(answer));
    return this.#moves ? [...answers, { answer: () => this.#moveOn(event), letGo: undefined }] : answers;
  }

  /** What a master says to transfers that can go on, when there is no other. */
  #moveOn(event: ExecutorEvent): readonly ExecutorInstruction[] {
    if (event.type === "recvReady") return [{ type: "activateSend", transfer: event.transfer }];
    return event.type === "intentsRaised" ? event.transfers.map((transfer) => this.recv(transfer)) : [];
  }

  /** The `activateRecv` of a transfer that was planned. */
  recv(transfer: number): ExecutorInstruction {
    return (
      this.#sizes.get(transfer) ?? this.fail(`intents of planned transfers`, `transfer ${transfer}, which never was`)
    );
  }

  #plan({ accelerator, inputs }: Extract<ExecutorInstruction, { type: "issue" }>): void {
    for (const { tensor, transfer, source } of inputs) {
      if (transfer === null || this.#sizes.has(transfer)) continue;
      const bytes = this.numbers.bytesOf(tensor);
      this.#sizes.set(transfer, { type: "activateRecv", transfer, tensor, source, destination: accelerator, bytes });
    }
  }

  /** Lets the next thing happen. Returns false when nothing is left to happen, or nothing was heard for so long. */
  async #goOn(ms: number): Promise<boolean> {
    const { step } = this.backend;
    if (step === undefined) return this.#patience.forNext(ms);
    let isLeft = false;
    try {
      isLeft = await step.call(this.backend);
    } catch (error) {
      this.#breaks(
        { ...ALWAYS.accepts, expected: "the next thing happens", seen: `step threw ${errorWords(error)}` },
        error,
      );
    }
    return isLeft;
  }

  #say(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) this.#lines.shift();
  }

  #breaks(breach: Breach, cause?: unknown): void {
    if (this.#breach !== null) return;
    this.#breach = breach;
    this.#cause = cause;
  }

  #throwBreach(): void {
    const breach = this.#breach ?? this.#watch.breach;
    if (breach !== null) throw this.#failure(breach);
    if (this.#thrown !== null) throw this.#thrown.error;
  }

  #failure({ rule, where, expected, seen }: Breach): ConformanceFailure {
    const finding = { rule, where, expected, seen, lastEvents: [...this.#lines] };
    return new ConformanceFailure(finding, this.#cause === undefined ? {} : { cause: this.#cause });
  }
}

function isAbout(event: ExecutorEvent, subject: number | string): boolean {
  return `${subjectOf(event)}` === `${subject}`;
}

/** Of an instruction that may be anything. */
function wordsOf(instruction: ExecutorInstruction): string {
  return JSON.stringify(instruction);
}

function errorWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = codeOf(error);
  return `${error.name}${code === "" ? "" : ` ${code}`}: ${error.message}`;
}

/** By its field, not by its class: a backend may bring its own copy of the package. */
function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}
