import { admit, finish, plan } from "./what-if.ts";

const prompts = [400, 300, 200, 400, 300];
console.log(`prompts of ${prompts.join(", ")} tokens, on four pairs of accelerators`);
console.log(`admitted where nobody may be delayed:    ${admit(prompts, 0).admitted.length}`);
console.log(`of one more, where a second is allowed:  ${admit([300], 1e9).admitted.length}`);
const planned = plan().instances;
const ended = finish();
const seconds = (ns: number | null | undefined) => (ns == null ? "never" : (ns / 1e9).toFixed(3));
console.log(`planned to end after  ${planned.map(({ endNs }) => seconds(endNs)).join(", ")} s`);
console.log(`ended after           ${planned.map(({ instance }) => seconds(ended.get(instance))).join(", ")} s`);
