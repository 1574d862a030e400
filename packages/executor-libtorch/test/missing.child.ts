/** A process of its own where the addon is not to be found. */
import { type LibtorchError, libtorchAvailable, libtorchExecutor } from "../src/index.ts";

try {
  libtorchExecutor();
} catch (error) {
  const { name, code, message } = error as LibtorchError;
  console.log(JSON.stringify({ available: libtorchAvailable(), name, code, message }));
}
