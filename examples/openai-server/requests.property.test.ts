import fc from "fast-check";
import { expect, test } from "vitest";
import { OpenAiError } from "./openai-error.ts";
import { readChat, readCompletion } from "./requests.ts";
import { StopText } from "./stop-text.ts";

const limits = { model: "m", contextTokens: 100, promptsMax: 4 };

const message = fc.record({ role: fc.constantFrom("user", "system"), content: fc.string({ maxLength: 10 }) });

/** Bodies that are right, and what may stand in the place of a field of theirs, or beside them. */
const prompt = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 }),
);
const messages = fc.array(message, { minLength: 1, maxLength: 4 });
const common = fc.record(
  {
    max_tokens: fc.integer({ min: 1, max: 90 }),
    stop: fc.oneof(fc.constant(null), fc.string({ minLength: 1 })),
    stream: fc.boolean(),
    service_tier: fc.constantFrom("auto", "flex", null),
    temperature: fc.constantFrom(0, 1),
  },
  { requiredKeys: [] },
);
const right = (isChat: boolean) =>
  fc
    .tuple(common, isChat ? fc.record({ messages }) : fc.record({ prompt }))
    .map(([fields, asked]) => ({ model: "m", ...fields, ...asked }));
const names = [
  "model",
  "prompt",
  "messages",
  "max_tokens",
  "stop",
  "stream",
  "stream_options",
  "service_tier",
  "n",
  "__proto__",
  "constructor",
  "toString",
];
const odd = fc.tuple(
  fc.constantFrom(...names),
  fc.oneof(
    fc.jsonValue(),
    fc.array(fc.integer()),
    fc.array(fc.record({ role: fc.jsonValue(), content: fc.jsonValue() })),
    fc.integer(),
  ),
);
const nearly = (isChat: boolean) =>
  fc.tuple(right(isChat), fc.option(odd)).map(([fields, odd]) => {
    const text = JSON.stringify(fields);
    return odd === null ? text : `${text.slice(0, -1)},${JSON.stringify(odd[0])}:${JSON.stringify(odd[1])}}`;
  });

test("fields that change nothing pass; those that would, and counts that are none, are refused by name", () => {
  const asked = { model: "m", messages: [{ role: "user", content: "Hi" }] };
  const refused = (fields: object) => {
    try {
      readChat({ ...asked, ...fields }, limits);
      return null;
    } catch (error) {
      if (!(error instanceof OpenAiError)) throw error;
      return error.param;
    }
  };
  const usual = {
    parallel_tool_calls: true,
    logit_bias: {},
    safety_identifier: "u1",
    prompt_cache_key: "k",
    store: false,
  };
  const more = {
    metadata: { run: "1" },
    user: "u",
    tool_choice: "auto",
    tools: [],
    modalities: ["text"],
    top_logprobs: 0,
  };
  expect(refused({ ...usual, ...more })).toBeNull();
  expect(refused({ logit_bias: { 50: 10 } })).toBe("logit_bias");
  expect(refused({ tool_choice: "required" })).toBe("tool_choice");
  expect(refused({ modalities: ["text", "audio"] })).toBe("modalities");
  expect(refused({ store: true })).toBe("store");
  expect(refused({ max_completion_tokens: 5, max_tokens: "5" })).toBe("max_tokens");
  expect(refused({ max_completion_tokens: 0, max_tokens: 5 })).toBe("max_completion_tokens");
  expect(readChat({ ...asked, max_completion_tokens: 5, max_tokens: 7 }, limits).maxTokens).toBe(5);
  expect(readChat({ ...asked, max_completion_tokens: null, max_tokens: 7 }, limits).maxTokens).toBe(7);
});

test("whatever a client sends, it is a job within the limits or an error of the client's", () => {
  let jobs = 0;
  const sent = fc
    .boolean()
    .chain((isChat) =>
      fc.tuple(
        fc.constant(isChat),
        fc.oneof({ arbitrary: nearly(isChat), weight: 8 }, { arbitrary: fc.json(), weight: 1 }),
      ),
    );
  fc.assert(
    fc.property(sent, ([isChat, drawn]) => {
      const parsed: unknown = JSON.parse(drawn);
      try {
        const { prompts, maxTokens, stops, priority } = (isChat ? readChat : readCompletion)(parsed, limits);
        jobs += 1;
        expect(prompts.length).toBeGreaterThan(0);
        expect(prompts.length).toBeLessThanOrEqual(limits.promptsMax);
        for (const prompt of prompts) {
          expect(prompt.length).toBeGreaterThan(0);
          expect(prompt.length + maxTokens).toBeLessThanOrEqual(limits.contextTokens);
          expect(prompt.every((token) => Number.isInteger(token) && token >= 0 && token < 96)).toBe(true);
        }
        expect(stops.every((stop) => stop !== "")).toBe(true);
        expect(["online", "offline"]).toContain(priority);
      } catch (error) {
        if (!(error instanceof OpenAiError)) throw error;
        expect([400, 404]).toContain(error.status);
      }
    }),
    { numRuns: 3000 },
  );
  expect(jobs).toBeGreaterThan(100);
  expect(({} as { model?: unknown }).model).toBeUndefined();
});

test("text ends where the first stop that is complete begins, as told by a slow twin", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 });
  const stops = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 }), {
    maxLength: 3,
  });
  fc.assert(
    fc.property(text, stops, (text, stops) => {
      const it = new StopText(stops);
      let told = "";
      for (const character of text) {
        told += it.add(character);
        // Nothing is told that may have to be taken back.
        expect(text.startsWith(told)).toBe(true);
      }
      told += it.end();
      let expected = text;
      for (let length = 1; length <= text.length; length++) {
        const starts = stops.map((stop) => text.slice(0, length).indexOf(stop)).filter((at) => at >= 0);
        if (starts.length === 0) continue;
        expected = text.slice(0, Math.min(...starts));
        break;
      }
      expect(told).toBe(expected);
      expect(it.isStopped).toBe(expected.length < text.length);
    }),
  );
});
