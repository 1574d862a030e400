import { generate, stats } from "./embedding.ts";

const started = performance.now();
const [urgent, patient] = await Promise.all([generate("online", 300, 5), generate("offline", 2000, 3)]);
const seconds = (ns: readonly number[]) => ns.map((each) => (each / 1e9).toFixed(2)).join(", ");
console.log(`tokens of the urgent request after   ${seconds(urgent)} s of simulated time`);
console.log(
  `tokens of the patient one after      ${seconds(patient)} s, in ${Math.round(performance.now() - started)} ms`,
);
console.log(`left in the graph: ${stats().requests} requests, ${stats().instances} instances`);
