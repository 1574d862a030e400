import { mergeConfig } from "vitest/config"; import base from "../../vitest.config.ts"; export default mergeConfig(base, { root: "../..", test: { setupFiles: ["packages/report/h6-setup.ts"] } });
