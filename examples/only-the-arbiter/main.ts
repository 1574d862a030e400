import { explainJam, oneAfterAnother, play, shards } from "./only-the-arbiter.ts";

const { moved, totalMs } = play(shards());
console.log(
  `${moved.length} transfers in ${totalMs.toFixed(0)} ms; one after another ${oneAfterAnother(shards()).totalMs.toFixed(0)} ms`,
);
console.log(
  `the urgent one, which came last: ${moved.find(({ transfer }) => transfer === moved.length - 1)?.tookMs.toFixed(0)} ms`,
);
console.log(explainJam());
