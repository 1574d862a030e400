/** A file that appears when it is complete, and until then leaves what is there as it is. */
import { constants, type WriteStream } from "node:fs";
import { access, chmod, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** How many unfinished files of one target may lie beside it. */
const partialsMax = 100;
const linksMax = 40;

/**
 * Has `write` fill a new file beside the target, which then takes the target's place and permissions. A link stays, and what it leads
 * to is replaced; into a pipe or a device is written as it stands. Whatever fails, the new file is taken away.
 * Errors: those of the file system and of `write`.
 */
export async function replaceFile(target: string, write: (file: WriteStream) => Promise<void>): Promise<void> {
  const before = await stat(target).catch(ifMissing);
  if (before !== null && !before.isFile() && !before.isDirectory()) {
    // By the name that was given: the link of a process to its own pipe leads to no other.
    const handle = await open(target, constants.O_WRONLY);
    await write(handle.createWriteStream());
    return;
  }
  const path = before === null ? await missingTarget(target) : await realpath(target);
  if (before !== null) await access(path, constants.W_OK);
  const { partial, file } = await createBeside(path);
  try {
    await write(file);
    if (before !== null) await chmod(partial, before.mode & 0o777);
    await rename(partial, path);
  } catch (cause) {
    file.destroy();
    await rm(partial, { force: true }).catch(() => {});
    throw cause;
  }
}

/** A file that nothing had the name of. */
async function createBeside(path: string): Promise<{ partial: string; file: WriteStream }> {
  for (let number = 0; ; number++) {
    const partial = `${path}${number === 0 ? "" : `.${number}`}.partial`;
    try {
      const handle = await open(partial, "wx");
      return { partial, file: handle.createWriteStream() };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST" || number === partialsMax) throw cause;
    }
  }
}

/** Where writing to a name would create a file: a link may lead there. */
async function missingTarget(name: string): Promise<string> {
  let target = resolve(name);
  for (let links = 0; links < linksMax; links++) {
    const folder = await realpath(dirname(target));
    target = join(folder, basename(target));
    const link = await readlink(target).catch(ifMissing);
    if (link === null) break;
    target = resolve(folder, link);
  }
  return target;
}

function ifMissing(cause: NodeJS.ErrnoException): null {
  if (cause.code === "ENOENT") return null;
  throw cause;
}
