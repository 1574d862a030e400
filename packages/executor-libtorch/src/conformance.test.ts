import { runExecutorConformance } from "@slicescheduler/testing";
import { test } from "vitest";
import { conformingBackend } from "./conformance.fixture.ts";
import { libtorchExecutor } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";

describeNative("the libtorch executor", () => {
  const { manifest } = libtorchExecutor();
  runExecutorConformance({ test, manifest, create: (context) => conformingBackend({}, context) });
});

describeNative("the libtorch executor, when it tells of everything as late as it may", () => {
  const options = { lookahead: 1, reportNs: 5_000_000 };
  const { manifest } = libtorchExecutor(options);
  runExecutorConformance({ test, manifest, create: (context) => conformingBackend(options, context) });
});
