import { compare } from "./own-policy.ts";

console.log("thirty prompts, one every 60 ms, on four pairs of accelerators:");
console.table(compare(60));
