export { LiveViewError } from "./errors.ts";
export type { HostTime } from "./host.ts";
export type { LiveViewOptions } from "./options.ts";
export { type LiveView, serveLiveView } from "./server.ts";
