import { left, smoothedSum } from "./own-executor.ts";

const sums = await Promise.all([1500, 900, 300].map((samples) => smoothedSum(samples, "online")));
console.log(`sums over smoothed signals of 1500, 900 and 300 samples: ${sums.map((sum) => sum.toFixed(3)).join(", ")}`);
console.log(`left: ${left().instances} instances, ${left().tensors} tensors`);
