import { libtorchAvailable } from "@slicescheduler/executor-libtorch";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { libtorchModel } from "./libtorch-model.ts";
import type { ModelOptions } from "./model.ts";
import { type OpenAiServer, type ServerOptions, startOpenAiServer } from "./server.ts";
import { StopText } from "./stop-text.ts";
import { generate } from "./text-model.ts";
import { decode, encode } from "./tokenizer.ts";
import { virtualModel } from "./virtual-model.ts";

/** What comes true sooner or later; machines are shared. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: 60_000 });

const open: OpenAiServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close(0);
});

const virtual = (stepMs: number) => (options: ModelOptions) => virtualModel({ ...options, stepMs });

async function served(options: ServerOptions = {}, apiKey = "unused") {
  const server = await startOpenAiServer({ model: virtual(0.2), ...options });
  open.push(server);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
  return { server, client, model: server.model.id, scheduler: server.model.scheduler };
}

const metricsOf = async ({ url }: OpenAiServer) => (await fetch(`${url}/metrics`)).text();
const readingOf = (text: string, series: string) =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")
      .at(-1),
  );

/** Until nothing of anybody is left in the scheduler. */
async function atRest({ model }: OpenAiServer) {
  await expect.poll(() => model.scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
}

describe("with the official client", () => {
  test("lists its model", async () => {
    const { client, model } = await served();
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual([model]);
    expect((await client.models.retrieve(model)).object).toBe("model");
    await expect(client.models.retrieve("gpt-5")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  test("completes a chat, with usage, and the same again", async () => {
    const { client, model, server } = await served();
    const messages = [{ role: "user" as const, content: "Hi" }];
    const chat = await client.chat.completions.create({ model, messages, max_completion_tokens: 30 });
    const prompt = "user: Hi\nassistant: ";
    expect(chat.choices).toMatchObject([{ index: 0, finish_reason: "length", message: { role: "assistant" } }]);
    expect(chat.choices[0]?.message.content).toHaveLength(30);
    expect(chat.usage).toEqual({
      prompt_tokens: prompt.length,
      completion_tokens: 30,
      total_tokens: prompt.length + 30,
    });
    expect(chat.system_fingerprint).toBe("virtual accelerators: the tokens are made up");
    const again = await client.chat.completions.create({ model, messages, max_completion_tokens: 30 });
    expect(again.choices[0]?.message.content).toBe(chat.choices[0]?.message.content);
    expect(again.id).not.toBe(chat.id);
    await atRest(server);
  });

  test("streams the same text token by token, and usage when asked", async () => {
    const { client, model } = await served();
    const messages = [{ role: "user" as const, content: "Hi" }];
    const whole = await client.chat.completions.create({ model, messages, max_tokens: 20 });
    const stream = await client.chat.completions.create({
      ...{ model, messages, max_tokens: 20, stream: true, stream_options: { include_usage: true } },
    });
    const pieces: string[] = [];
    let usage: unknown;
    let reason: unknown;
    for await (const chunk of stream) {
      pieces.push(chunk.choices[0]?.delta.content ?? "");
      reason = chunk.choices[0]?.finish_reason ?? reason;
      usage = chunk.usage ?? usage;
    }
    expect(pieces.join("")).toBe(whole.choices[0]?.message.content);
    expect(pieces.filter((piece) => piece !== "")).toHaveLength(20);
    expect(reason).toBe("length");
    expect(usage).toEqual(whole.usage);
  });

  test("completes several prompts at once, and stops where it is told", async () => {
    const { client, model } = await served();
    const many = await client.completions.create({ model, prompt: ["a", "bc"], max_tokens: 10 });
    expect(many.choices.map(({ index, text }) => [index, text.length])).toEqual([
      [0, 10],
      [1, 10],
    ]);
    expect(many.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 20 });
    const stopped = await client.completions.create({
      model,
      prompt: "a",
      max_tokens: 200,
      stop: ["made up", "never there"],
    });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop" });
    expect(stopped.choices[0]?.text).not.toContain("made up");
    expect(stopped.usage?.completion_tokens).toBeLessThan(100);
    const streamed = await client.completions.create({
      model,
      prompt: "a",
      max_tokens: 200,
      stop: "made up",
      stream: true,
    });
    let text = "";
    for await (const chunk of streamed) text += chunk.choices[0]?.text ?? "";
    expect(text).toBe(stopped.choices[0]?.text);
  });

  test("when one of several prompts fails, the others end with it", async () => {
    const failsSecond = (options: ModelOptions) => {
      const model = virtual(5)(options);
      return {
        ...model,
        open: (opening: Parameters<typeof model.open>[0]) => {
          if (opening.label.endsWith("/1")) throw Object.assign(new Error("full"), { code: "QUEUE_FULL" });
          return model.open(opening);
        },
      };
    };
    const { client, model, server } = await served({ model: failsSecond });
    for (const stream of [false, true]) {
      const asked = client.completions.create({ model, prompt: ["a", "b", "c"], max_tokens: 1900, stream });
      await expect(asked).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    }
    await atRest(server);
    // Two others of 1900 tokens each had begun, twice.
    const tokens = readingOf(await metricsOf(server), 'openai_tokens_total{priority="online"}');
    expect(tokens || 0).toBeLessThan(1900);
  });

  test("who leaves is cancelled: its work ends and its memory is free", async () => {
    const { client, model, server } = await served({ model: virtual(5) });
    const messages = [{ role: "user" as const, content: "tell me a long story" }];
    const controller = new AbortController();
    const stream = await client.chat.completions.create(
      { model, messages, max_tokens: 1900, stream: true },
      { signal: controller.signal },
    );
    let got = 0;
    for await (const _ of stream) {
      got += 1;
      if (got === 4) controller.abort();
    }
    expect(got).toBeLessThan(1900);
    await atRest(server);
    const waiting = client.chat.completions.create(
      { model, messages, max_tokens: 1900 },
      { signal: AbortSignal.timeout(300) },
    );
    await expect(waiting).rejects.toThrow();
    await atRest(server);
    const text = await metricsOf(server);
    expect(readingOf(text, 'openai_requests_total{endpoint="chat.completions",status="499"}')).toBe(2);
    expect(text).toMatch(/slicescheduler_instances_total\{class="online",tenant="none",outcome="cancelled"\} [1-9]/);
  });

  test("the patient tier waits while urgent ones run", async () => {
    const { client, model, server } = await served({ model: virtual(3) });
    const order: string[] = [];
    const ask = async (tier: "flex" | "default", tokens: number) => {
      const { service_tier } = await client.chat.completions.create({
        ...{ model, max_tokens: tokens, service_tier: tier, messages: [{ role: "user", content: "x".repeat(200) }] },
      });
      expect(service_tier).toBe(tier);
      order.push(tier);
    };
    const patient = Array.from({ length: 4 }, () => ask("flex", 150));
    await eventually(() => server.model.scheduler.stats().requests).toBe(4);
    await Promise.all([...patient, ...Array.from({ length: 3 }, () => ask("default", 24))]);
    // They came last and were done first.
    expect(order).toEqual(["default", "default", "default", "flex", "flex", "flex", "flex"]);
  });

  test("errors are OpenAI's: what is wrong, and where", async () => {
    const { client, model } = await served();
    const messages = [{ role: "user" as const, content: "Hi" }];
    const chat = (more: object) => client.chat.completions.create({ model, messages, ...more } as never);
    const refused = { status: 400, type: "invalid_request_error" };
    await expect(chat({ model: "gpt-5" })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
    });
    await expect(chat({ messages: [] })).rejects.toMatchObject({ ...refused, param: "messages" });
    await expect(chat({ messages: [{ role: "robot", content: "x" }] })).rejects.toMatchObject({
      ...refused,
      param: "messages[0]",
    });
    await expect(chat({ max_tokens: 0 })).rejects.toMatchObject({ ...refused, param: "max_tokens" });
    await expect(chat({ max_tokens: 5000 })).rejects.toMatchObject({ ...refused, code: "context_length_exceeded" });
    await expect(chat({ n: 2 })).rejects.toMatchObject({ ...refused, code: "unsupported_value", param: "n" });
    await expect(chat({ logit_bias: { 1: 2 } })).rejects.toMatchObject({ ...refused, code: "unsupported_value" });
    await expect(chat({ reasoning_effort: "low" })).rejects.toMatchObject({ ...refused, code: "unknown_parameter" });
    await expect(chat({ stop: ["a", "b", "c", "d", "e"] })).rejects.toMatchObject({ ...refused, param: "stop" });
    await expect(chat({ service_tier: "gold" })).rejects.toMatchObject({ ...refused, param: "service_tier" });
    await expect(client.completions.create({ model, prompt: "" })).rejects.toMatchObject({
      ...refused,
      param: "prompt",
    });
    // What the client sends by default, and what changes nothing, is understood.
    await expect(chat({ temperature: 0.7, top_p: 1, seed: 1, user: "me", max_tokens: 1 })).resolves.toMatchObject({
      object: "chat.completion",
    });
  });

  test("a wrong key is refused, and lets nobody see the model", async () => {
    const { server } = await served({ apiKey: "right" });
    for (const apiKey of ["wrong", "right and more"]) {
      const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
      await expect(client.models.list()).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    }
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "right", maxRetries: 0 });
    expect((await client.models.list()).data).toHaveLength(1);
  });

  test("who comes when too many are there, or waits too long, is told to come again", async () => {
    const few = await served({ model: virtual(5), requestsMax: 2 });
    const controllers: AbortController[] = [];
    const ask = (client: OpenAI, model: string) => {
      const controller = new AbortController();
      controllers.push(controller);
      const { signal } = controller;
      return client.completions.create({ model, prompt: "x".repeat(900), max_tokens: 1000 }, { signal }).then(
        () => "done",
        ({ status, code }: { status?: number; code?: string }) => `${status} ${code}`,
      );
    };
    const first = [ask(few.client, few.model), ask(few.client, few.model)];
    await eventually(() => few.scheduler.stats().requests).toBe(2);
    expect(await ask(few.client, few.model)).toBe("429 rate_limit_exceeded");
    const slow = await served({ model: virtual(20), queueTimeoutMs: 100 });
    const told: string[] = [];
    const asked = Array.from({ length: 20 }, () => ask(slow.client, slow.model).then((outcome) => told.push(outcome)));
    await eventually(() => told).toContain("429 queue_timeout");
    expect(new Set(told)).toEqual(new Set(["429 queue_timeout"]));
    for (const controller of controllers) controller.abort();
    await Promise.all([...first, ...asked]);
    await atRest(few.server);
    await atRest(slow.server);
  });
});

describe("as a server", () => {
  test("drained, it asks to come again; resumed, it answers", async () => {
    const { client, model, scheduler, server } = await served({ model: virtual(5) });
    const ask = (stream: boolean) =>
      client.completions.create({ model, prompt: "x".repeat(900), max_tokens: 5, stream });
    const drain = () => {
      for (const name of ["virtual0", "virtual1"]) scheduler.drainAccelerator(name);
    };
    // Some run and end all the same; those that wait for memory have nowhere to go any more.
    const asked = Array.from({ length: 60 }, () =>
      ask(false).then(
        () => "done",
        ({ status, code }: { status?: number; code?: string }) => `${status} ${code}`,
      ),
    );
    await eventually(() => scheduler.stats().requests).toBe(60);
    await eventually(() => scheduler.stats().issuedOperators).toBeGreaterThan(0);
    drain();
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["done", "503 request_lost"]));
    for (const stream of [false, true])
      await expect(ask(stream)).rejects.toMatchObject({ status: 503, code: "accelerators_unavailable" });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ model, prompt: "a" });
    const answer = await fetch(`${server.url}/v1/completions`, { method: "POST", headers, body });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    await atRest(server);
    // The official client comes again on its own.
    const patient = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "unused", maxRetries: 30 });
    const kept = patient.completions.create({ model, prompt: "a", max_tokens: 4 });
    scheduler.resumeAccelerator("virtual1");
    expect((await kept).choices[0]?.text).toHaveLength(4);
  });

  test("cancelled by whoever runs it, a request ends, and is not sent again", async () => {
    const { model, scheduler, server } = await served({ model: virtual(5) });
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "unused", maxRetries: 5 });
    const asked = client.completions.create({ model, prompt: "a", max_tokens: 1900 });
    const refusal = expect(asked).rejects.toMatchObject({ status: 503, code: "cancelled" });
    await eventually(() => scheduler.stats().instances).toBeGreaterThan(0);
    // Instances are numbered from 0; those that ended are not touched.
    for (let instance = 0; instance < 200; instance++) {
      try {
        scheduler.cancelInstance(instance);
      } catch {
        break;
      }
    }
    await refusal;
    await atRest(server);
    const text = await metricsOf(server);
    expect(readingOf(text, 'openai_requests_total{endpoint="completions",status="503"}')).toBe(1);
  });

  test("metrics of the scheduler and of the server stand in one text", async () => {
    const { client, model, server } = await served();
    await client.completions.create({ model, prompt: "abc", max_tokens: 5, service_tier: "flex" } as never);
    const text = await metricsOf(server);
    expect(readingOf(text, 'openai_tokens_total{priority="offline"}')).toBe(5);
    expect(readingOf(text, 'openai_requests_total{endpoint="completions",status="200"}')).toBe(1);
    expect(readingOf(text, 'openai_first_token_seconds_count{priority="offline"}')).toBe(1);
    expect(readingOf(text, 'slicescheduler_instances_total{class="offline",tenant="none",outcome="done"}')).toBe(5);
    expect(readingOf(text, 'slicescheduler_request_first_result_seconds_count{class="offline",tenant="none"}')).toBe(1);
    expect(text).toMatch(/slicescheduler_round_host_seconds_count [1-9]/);
  });

  test("what is no request is refused without harm", async () => {
    const { server } = await served({ bodyBytesMax: 1000 });
    const post = async (body: string, type = "application/json") => {
      const answer = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        body,
        headers: { "content-type": type },
      });
      return [answer.status, ((await answer.json()) as { error: { type: string } }).error.type];
    };
    expect(await post("{")).toEqual([400, "invalid_request_error"]);
    expect(await post("[]")).toEqual([400, "invalid_request_error"]);
    expect(await post('{"__proto__":{"model":"made-up"},"messages":[]}')).toEqual([400, "invalid_request_error"]);
    expect(await post("{}", "text/plain")).toEqual([415, "invalid_request_error"]);
    expect(await post(JSON.stringify({ model: "x".repeat(2000) }))).toEqual([413, "invalid_request_error"]);
    expect((await fetch(`${server.url}/v2/chat`)).status).toBe(404);
    expect((await fetch(`${server.url}/v1/chat/completions`)).status).toBe(405);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  test("shutting down lets answers end, takes no more, and cancels what is too slow", async () => {
    const { client, model, server } = await served({ model: virtual(2) });
    const short = client.completions.create({ model, prompt: "a", max_tokens: 300 });
    await eventually(() => server.model.scheduler.stats().requests).toBe(1);
    const closing = server.close(60_000);
    await expect(client.models.list()).rejects.toThrow();
    expect((await short).choices[0]?.text).toHaveLength(300);
    await closing;

    const other = await served({ model: virtual(5) });
    const long = other.client.completions.create({ model, prompt: "a", max_tokens: 1900 });
    const refusal = expect(long).rejects.toMatchObject({ status: 503, code: "shutting_down" });
    await eventually(() => other.scheduler.stats().requests).toBe(1);
    await other.server.close(50);
    await refusal;
  });
});

describe("pieces", () => {
  test("every token is a character and back; what it does not know is a question mark", () => {
    const text = "Hello, World! ~\n";
    expect(encode(text).map(decode).join("")).toBe(text);
    expect(encode("é😀").map(decode).join("")).toBe("??");
  });

  test("a stop is never told, not even its beginning", () => {
    const stops = new StopText(["END", "ENOUGH"]);
    expect(["a", "E", "N", "x", "E", "N", "D", "b"].map((piece) => stops.add(piece))).toEqual([
      ..."a||E|Nx||||".split("|").slice(0, 2),
      "",
      "ENx",
      "",
      "",
      "",
      "",
    ]);
    expect(stops.isStopped).toBe(true);
    const open = new StopText(["END"]);
    expect(open.add("the EN")).toBe("the ");
    expect(open.end()).toBe("EN");
  });
});

describe.skipIf(!libtorchAvailable())("on LibTorch (skipped where it is not set up: npm run setup:libtorch)", () => {
  test("streams what the model says, the same as without a stream, and leaves nothing behind", async () => {
    const { client, model, server } = await served({ model: libtorchModel });
    const whole = await client.completions.create({ model, prompt: "The quick brown fox", max_tokens: 24 });
    expect(whole.system_fingerprint).toBe("libtorch: random weights");
    const streams = ["default", "flex"].map(async (tier) => {
      const request = { model, prompt: "The quick brown fox", max_tokens: 24, stream: true, service_tier: tier };
      let text = "";
      for await (const chunk of (await client.completions.create(
        request as never,
      )) as unknown as AsyncIterable<OpenAI.Completion>)
        text += chunk.choices[0]?.text ?? "";
      return text;
    });
    expect(await Promise.all(streams)).toEqual([whole.choices[0]?.text, whole.choices[0]?.text]);
    await atRest(server);
  });

  test("who leaves is cancelled there as well", async () => {
    const { client, model, server } = await served({ model: libtorchModel });
    const controller = new AbortController();
    const stream = await client.completions.create(
      { model, prompt: "a", max_tokens: 1000, stream: true },
      { signal: controller.signal },
    );
    for await (const _ of stream) controller.abort();
    await atRest(server);
    expect((await client.completions.create({ model, prompt: "b", max_tokens: 3 })).choices[0]?.text).toHaveLength(3);
  });
});

test("a generation that ends early leaves nothing behind, whenever it is aborted", async () => {
  const model = virtualModel({ scheduling: {}, stepMs: 0.2 });
  for (let afterTokens = 0; afterTokens < 6; afterTokens++) {
    const controller = new AbortController();
    let tokens = 0;
    const generation = generate(model, {
      ...{
        prompt: encode("abc"),
        count: 5,
        priority: "online",
        label: "",
        queueTimeoutNs: 60e9,
        signal: controller.signal,
      },
      onToken: () => {
        tokens += 1;
        if (tokens === afterTokens) controller.abort();
        return true;
      },
    });
    if (afterTokens === 0) controller.abort();
    await generation.catch(() => {});
    expect(tokens).toBeLessThanOrEqual(Math.max(1, afterTokens + 1));
    await eventually(() => model.scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
    model.scheduler.validate();
  }
  model.close();
});
