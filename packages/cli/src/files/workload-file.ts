/** Workload files: which requests a replay plays, and how. */
import { dirname, isAbsolute, join, resolve } from "node:path";
import { assertPolicyKnown, azure2023Profile, type OfflineLoad, UnknownPolicyError } from "@slicescheduler/workloads";
import { type FileFault, FileInvalidError } from "../errors.ts";
import { type LoadedDocument, parseDocument } from "./document.ts";
import { inOrder } from "./fault-order.ts";
import { schemaFaults } from "./schema-check.ts";
import { asArray, asRecord } from "./values.ts";

export type RecipeName = "B48" | "B" | "plain";

/** What a file says; everything may be missing. */
export interface WorkloadFile {
  readonly trace?: readonly string[];
  readonly profile?: string;
  readonly recipe?: RecipeName;
  readonly minutes?: number;
  readonly share?: number;
  readonly seed?: number;
  readonly seeds?: number;
  /** Null: no offline load. */
  readonly offline?: OfflineLoad | null;
  readonly instanceAccelerators?: number;
  readonly policies?: readonly string[];
}

/** Longest window of the recipes that cut half hours out of a trace. */
const recipeMinutesMax = 30;

/**
 * Reads the text of a workload file; paths in it count from its folder. It does not look whether those files are there.
 * @param file where it stands, seen from `cwd`.
 * Errors: FILE_INVALID, with every fault.
 */
export function parseWorkloadFile(text: string, file: string, cwd: string = "."): WorkloadFile {
  const document = parseDocument(text, file);
  const root = asRecord(document.value);
  const faults = [...schemaFaults(document, "workload").map(({ fault }) => fault), ...crossFaults(document, root)];
  if (faults.length > 0) throw new FileInvalidError(inOrder(faults));
  const near = (path: unknown): string => {
    const text = String(path);
    return isAbsolute(text) ? text : join(dirname(resolve(cwd, file)), text);
  };
  const { trace, profile, offline, recipe, policies } = root;
  const numbers = ["minutes", "share", "seed", "seeds", "instanceAccelerators"] as const;
  return {
    ...(trace === undefined ? {} : { trace: (typeof trace === "string" ? [trace] : asArray(trace)).map(near) }),
    ...(profile === undefined ? {} : { profile: profile === azure2023Profile.name ? profile : near(profile) }),
    ...(recipe === undefined ? {} : { recipe: recipe as RecipeName }),
    ...Object.fromEntries(numbers.flatMap((name) => (root[name] === undefined ? [] : [[name, root[name]]]))),
    ...(offline === undefined ? {} : { offline: offline === false ? null : { ...(offline as OfflineLoad) } }),
    ...(policies === undefined ? {} : { policies: asArray(policies).map(String) }),
  };
}

/** What no schema can say. */
function crossFaults(document: LoadedDocument, root: Readonly<Record<string, unknown>>): FileFault[] {
  const faults: FileFault[] = [];
  const { minutes, recipe, seed, seeds } = root;
  if (typeof minutes === "number" && minutes > recipeMinutesMax && minutes <= 1440 && recipe !== "plain")
    faults.push(document.fault(["minutes"], `is ${minutes}; recipes B48 and B have at most ${recipeMinutesMax}`));
  if (recipe === "plain" && root["trace"] === undefined)
    faults.push(document.fault(["recipe"], 'is "plain", which needs a trace to take the requests from'));
  if (typeof seed === "number" && typeof seeds === "number" && !Number.isSafeInteger(seed + seeds))
    faults.push(document.fault(["seeds"], "go beyond 2^53 − 1 from that seed on"));
  for (const [index, name] of asArray(root["policies"]).entries()) {
    if (typeof name !== "string") continue;
    try {
      assertPolicyKnown(name);
    } catch (error) {
      if (!(error instanceof UnknownPolicyError)) throw error;
      faults.push(document.fault(["policies", index], error.message));
    }
  }
  return faults;
}
