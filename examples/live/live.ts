/**
 * A master at work that can be looked at: chats and batch work share three virtual accelerators in real time, Prometheus scrapes `/metrics`, and the
 * live view shows what runs now.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { RealTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { serveLiveView } from "@slicescheduler/live-view";
import { promClientSink } from "@slicescheduler/metrics/prom-client";
import * as promClient from "prom-client";
import { SliceScheduler } from "slicescheduler";

const ACCELERATORS = ["a0", "a1", "a2"];

const pass = defineTemplate({
  name: "pass",
  symbols: ["tokens"],
  operators: [
    {
      name: "first",
      outputs: { hidden: { shape: ["tokens", 4096], dtype: "bfloat16" } },
      flops: "tokens * 1000000000",
    },
    {
      name: "second",
      inputs: ["first.hidden"],
      outputs: { hidden: { shape: ["tokens", 4096], dtype: "bfloat16" } },
      flops: "tokens * 1000000000",
    },
  ],
  outputs: { hidden: "second.hidden" },
  partitions: [
    ...ACCELERATORS.map((name) => ({ name, accelerators: [name], layout: [0, 0] })),
    { name: "a0+a1", accelerators: ["a0", "a1"], layout: [0, 1] },
  ],
});

export interface LiveOptions {
  /** 0 for any that is free. Default 0. */
  readonly metricsPort?: number;
  readonly viewPort?: number;
  /** Lets the live view drain, resume and cancel. */
  readonly token?: string;
}

export async function startLive({ metricsPort = 0, viewPort = 0, token }: LiveOptions = {}) {
  const registry = new promClient.Registry();
  const device = { kind: "virtual", hbmBytes: 32e6, flopsPerSecond: 1e13, hbmBytesPerSecond: 1e12 };
  const scheduler = new SliceScheduler({
    cluster: {
      accelerators: ACCELERATORS.map((name) => ({ ...device, name })),
      defaultLink: { latencyNs: 50_000, bytesPerSecond: 1e9 },
    },
    executor: virtualExecutor({ seed: 1, time: new RealTime(), operatorCv: 0.1 }),
    scheduling: { tenants: { chat: {}, batch: {} } },
    metrics: { sink: promClientSink(promClient, registry) },
    hostNowNs: () => performance.now() * 1e6,
  });
  const metrics = createServer(async (request, response) => {
    const isScrape = request.url === "/metrics";
    response.writeHead(isScrape ? 200 : 404, { "content-type": registry.contentType });
    response.end(isScrape ? await registry.metrics() : "");
  });
  await new Promise<void>((resolve, reject) => {
    metrics.once("error", reject);
    metrics.listen(metricsPort, "127.0.0.1", resolve);
  });
  const view = await serveLiveView(scheduler, {
    port: viewPort,
    title: "Example",
    ...(token === undefined ? {} : { token }),
  }).catch((error: unknown) => {
    metrics.close();
    throw error;
  });
  const stopWork = work(scheduler);
  return {
    scheduler,
    viewUrl: view.url,
    metricsUrl: `http://127.0.0.1:${(metrics.address() as AddressInfo).port}/metrics`,
    close: async () => {
      stopWork();
      await view.close();
      metrics.closeAllConnections();
      await new Promise((resolve) => metrics.close(resolve));
      scheduler.close();
    },
  };
}

/**
 * A chat comes every tenth of a second; of the batch there are always six requests. Now and then somebody leaves. While every accelerator is
 * drained or lost `submit` refuses, and what waits fails: a chat that nobody takes is gone, the batch tries again a second later.
 */
function work(scheduler: SliceScheduler): () => void {
  const template = scheduler.register(pass);
  const over = new AbortController();
  let chats = 0;
  const chat = () => {
    const number = chats++;
    try {
      const tokens = 100 + ((number * 37) % 400);
      const handle = scheduler.submit(template, {
        symbols: { tokens },
        priority: "online",
        tenant: "chat",
        label: `chat ${number}`,
      });
      if (number % 20 === 7) handle.cancel();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  };
  const batch = async (label: string) => {
    while (!over.signal.aborted) {
      try {
        const symbols = { tokens: 1500 };
        await scheduler.submit(template, { symbols, priority: "offline", tenant: "batch", label }).done;
      } catch (error) {
        if (!mayBeTriedAgain(error)) throw error;
        await setTimeout(1000, undefined, { signal: over.signal }).catch(() => {});
      }
    }
  };
  const timer = setInterval(chat, 100);
  for (let index = 0; index < 6; index++) void batch(`batch ${index}`);
  return () => {
    over.abort();
    clearInterval(timer);
  };
}

/** No accelerator is there, or too few of them. */
const isUnavailable = (error: unknown) => codeOf(error) === "ACCELERATOR_UNAVAILABLE";

/** It lost its accelerators, was cancelled in the live view, or the example ends. */
const mayBeTriedAgain = (error: unknown) =>
  isUnavailable(error) || ["INSTANCE_FAILED", "INSTANCE_CANCELLED", "CLOSED"].includes(codeOf(error));

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "");
