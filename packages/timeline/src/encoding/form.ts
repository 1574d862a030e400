/** `SSRR`, then the version in one byte; at the end the CRC-32 of everything before it. */
export const MAGIC = [0x53, 0x53, 0x52, 0x52] as const;
export const VERSION = 1;
export const CHECKSUM_BYTES = 4;

/** Kinds of notices by their number in the file: only ever added to. */
export const NOTICE_KINDS = [
  "operatorFailed",
  "operatorWithdrawn",
  "transferQuarantined",
  "transferReleased",
  "instanceFailed",
  "instanceCancelled",
  "standstill",
  "acceleratorLost",
  "acceleratorReturned",
  "acceleratorSuspect",
  "acceleratorCleared",
  "acceleratorDraining",
  "acceleratorDrained",
] as const;

/** Counts in the order in which they stand. */
export const DROPPED = ["operators", "transfers", "hbmSteps", "requests", "notices"] as const;
