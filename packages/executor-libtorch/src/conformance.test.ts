import { runExecutorConformance } from "@slicescheduler/testing";
import { test } from "vitest";
import { conformingBackend } from "./conformance.fixture.ts";
import { libtorchExecutor } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";

describeNative("the libtorch executor, when nothing starts by itself", () => {
  const options = { lookahead: 0 };
  const { manifest } = libtorchExecutor(options);
  runExecutorConformance({ test, manifest, create: (context) => conformingBackend(options, context) });
});

describeNative("the libtorch executor, when accelerators run ahead", () => {
  const { manifest } = libtorchExecutor();
  runExecutorConformance({ test, manifest, create: (context) => conformingBackend({}, context) });
});
