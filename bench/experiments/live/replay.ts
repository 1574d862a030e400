/** Plays requests in real time against a service that runs one policy. */

import type { Notices } from "slicescheduler";
import type { LlamaService } from "../../../examples/llama-libtorch/llama-service.ts";
import type { LivePolicy } from "./policies.ts";
import type { LiveRequest } from "./workload.ts";

export interface LiveRecord {
  readonly request: LiveRequest;
  readonly tokens: readonly number[];
  /** When each token was there, in nanoseconds from the start of the window. */
  readonly tokenNs: readonly number[];
}

/** Longest piece of an offline prompt: what an online operator may have to wait for. */
const OFFLINE_PIECE_TOKENS = 32;
/** Steps submitted beyond the running one: on few cores the thread that schedules may have to wait for its turn. */
const LOOKAHEAD = 3;

export interface LivePlay {
  readonly records: readonly LiveRecord[];
  /** What each operator of a decode step of an online request took, in nanoseconds: longer where others want the cores as well. */
  readonly decodeOperatorNs: readonly number[];
}

/** Resolves when the last request has all its tokens. */
export async function replayLive(
  service: LlamaService,
  policy: LivePolicy,
  requests: readonly LiveRequest[],
): Promise<LivePlay> {
  const { clock } = service.executor;
  const decodeOperatorNs: number[] = [];
  const listener = ({ label, template, observedNs }: Notices["operatorDone"]): void => {
    if (label === "online" && template.endsWith("/decode")) decodeOperatorNs.push(observedNs);
  };
  service.scheduler.on("operatorDone", listener);
  const startNs = clock.nowNs();
  const lanes = new Map<number, Promise<unknown>>();
  const taken = requests.filter((request) => policy.takesOffline || request.class === "online");
  const records = await Promise.all(
    taken.map(async (request) => {
      await new Promise<void>((resolve) => clock.callAt(startNs + request.arrivalNs, resolve));
      const lane = policy.lane(request);
      if (lane === null) return serve(service, policy, request, startNs);
      const before = lanes.get(lane) ?? Promise.resolve();
      const mine = before.then(() => serve(service, policy, request, startNs));
      lanes.set(lane, mine);
      return mine;
    }),
  );
  service.scheduler.off("operatorDone", listener);
  return { records, decodeOperatorNs };
}

async function serve(
  service: LlamaService,
  policy: LivePolicy,
  request: LiveRequest,
  startNs: number,
): Promise<LiveRecord> {
  const partitions = policy.partitions(request);
  const tokenNs: number[] = [];
  const tokens = await service.generate({
    prompt: request.prompt,
    count: request.count,
    priority: request.class,
    label: request.class,
    lookahead: LOOKAHEAD,
    onToken: (_token, atNs) => tokenNs.push(atNs - startNs),
    ...(partitions === undefined ? {} : { partitions }),
    ...(request.class === "offline" ? { pieceTokensMax: OFFLINE_PIECE_TOKENS } : {}),
  });
  return { request, tokens, tokenNs };
}
