import { answer, offers, plan, table, trace } from "./capacity-planning.ts";

const assessments = plan(trace(), { ttftMs: 8000, share: 0.9 }, offers([2, 4, 8], [8, 24]));
console.log(table(assessments));
const found = answer(assessments)?.offer;
console.log(found === undefined ? "none is enough" : `take ${found.accelerators} of ${found.hbmBytes / 1e9} GB`);
