/** Number of an instance, unique for the life of a graph, rising by submission. */
export type InstanceId = number;
/** Number of one issue of an operator, unique for the life of a graph; a withdrawn operator gets a new one. */
export type IssueNumber = number;
/** Number of one transfer, unique for the life of a graph. */
export type TransferNumber = number;

export type OperatorState = "unscheduled" | "issued" | "done" | "cancelled" | "failed";
export type InstanceState = "live" | "done" | "cancelled" | "failed";
