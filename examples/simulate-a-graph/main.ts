import { complaint, graphs } from "./simulate-a-graph.ts";

for (const [file, read] of Object.entries(graphs)) console.log(`${file}\n${complaint(read)}\n`);
