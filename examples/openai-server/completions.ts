/** From a job to its answer, in one piece or as a stream. */
import type { ServerResponse } from "node:http";
import { EventWriter } from "./event-writer.ts";
import { asOpenAiError } from "./openai-error.ts";
import type { Job } from "./requests.ts";
import { StopText } from "./stop-text.ts";
import { generate, type TextModel } from "./text-model.ts";
import { decode } from "./tokenizer.ts";

export interface Answering {
  readonly id: string;
  readonly model: TextModel;
  readonly job: Job;
  readonly queueTimeoutNs: number;
  readonly stalledMs: number;
  readonly signal: AbortSignal;
  readonly onToken: () => void;
}

type FinishReason = "stop" | "length";

export async function answer(response: ServerResponse, answering: Answering): Promise<void> {
  if (answering.job.streams) await stream(response, answering);
  else await whole(response, answering);
}

async function whole(response: ServerResponse, answering: Answering): Promise<void> {
  const { job } = answering;
  const texts = job.prompts.map(() => "");
  const ends = await allOrNone(answering, (index, signal) =>
    complete(answering, signal, index, (text) => {
      texts[index] += text;
    }),
  );
  const choices = texts.map((text, index) => ({
    index,
    finish_reason: ends[index]?.reason,
    logprobs: null,
    ...(job.kind === "chat" ? { message: { role: "assistant", content: text, refusal: null } } : { text }),
  }));
  const body = JSON.stringify({ ...headOf(answering, false), choices, usage: usageOf(job, ends) });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** The head of the answer goes out with the first text, so that a refusal still has a status of its own. */
async function stream(response: ServerResponse, answering: Answering): Promise<void> {
  const { job, stalledMs } = answering;
  const head = headOf(answering, true);
  let opened: EventWriter | undefined;
  const writer = () => {
    opened ??= open();
    return opened;
  };
  const open = () => {
    const events = new EventWriter(response, stalledMs);
    if (job.kind === "chat")
      events.send({ ...head, choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] });
    return events;
  };
  const told = (index: number, text: string, reason: FinishReason | null) => {
    const piece = job.kind === "chat" ? { delta: reason === null ? { content: text } : {} } : { text };
    writer().send({ ...head, choices: [{ index, ...piece, logprobs: null, finish_reason: reason }] });
  };
  try {
    const ends = await allOrNone(answering, async (index, signal) => {
      const end = await complete(answering, signal, index, (text) => told(index, text, null));
      told(index, "", end.reason);
      return end;
    });
    if (job.streamsUsage) writer().send({ ...head, choices: [], usage: usageOf(job, ends) });
    writer().end();
  } catch (error) {
    if (opened === undefined) throw error;
    opened.send(asOpenAiError(error).body);
    opened.end();
  }
}

/** Every prompt at once; when one fails the others are cancelled, and have ended when this rejects. */
async function allOrNone<T>(
  { job, signal }: Answering,
  completeOne: (index: number, signal: AbortSignal) => Promise<T>,
): Promise<T[]> {
  const others = new AbortController();
  const either = AbortSignal.any([signal, others.signal]);
  const tasks = job.prompts.map((_, index) => completeOne(index, either));
  try {
    return await Promise.all(tasks);
  } catch (error) {
    others.abort(error);
    await Promise.allSettled(tasks);
    throw error;
  }
}

/** One prompt; tells text as it comes. */
async function complete(
  { id, model, job, queueTimeoutNs, onToken }: Answering,
  signal: AbortSignal,
  index: number,
  tell: (text: string) => void,
): Promise<{ readonly tokens: number; readonly reason: FinishReason }> {
  const text = new StopText(job.stops);
  let tokens = 0;
  const told = (piece: string) => {
    if (piece !== "") tell(piece);
  };
  await generate(model, {
    prompt: job.prompts[index] ?? [],
    count: job.maxTokens,
    priority: job.priority,
    label: job.prompts.length === 1 ? id : `${id}/${index}`,
    queueTimeoutNs,
    signal,
    onToken: (token) => {
      tokens += 1;
      onToken();
      told(text.add(decode(token)));
      return !text.isStopped;
    },
  });
  told(text.end());
  return { tokens, reason: text.isStopped ? "stop" : "length" };
}

function headOf({ id, model, job }: Answering, isChunk: boolean) {
  const object = job.kind === "text" ? "text_completion" : isChunk ? "chat.completion.chunk" : "chat.completion";
  const created = Math.floor(Date.now() / 1000);
  return { id, object, created, model: model.id, system_fingerprint: model.fingerprint, service_tier: job.serviceTier };
}

function usageOf({ prompts }: Job, ends: readonly { readonly tokens: number }[]) {
  const prompt = prompts.reduce((sum, { length }) => sum + length, 0);
  const completion = ends.reduce((sum, { tokens }) => sum + tokens, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
