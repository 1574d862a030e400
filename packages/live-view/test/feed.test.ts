import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { Feed } from "../src/feed.ts";

/** Time that passes when a test says so. */
class ManualTime {
  now = 0;
  readonly timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();

  nowMs() {
    return this.now;
  }

  after(delayMs: number, callback: () => void) {
    const timer = { atMs: this.now + delayMs, callback };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  pass(ms: number) {
    for (const endMs = this.now + ms; this.now < endMs; ) {
      this.now += 10;
      for (const timer of [...this.timers]) {
        if (timer.atMs > this.now) continue;
        this.timers.delete(timer);
        timer.callback();
      }
    }
  }
}

/** What a response is to the feed: it takes, or it does not. */
class Listener extends EventEmitter {
  readonly got: string[] = [];
  takes = true;
  destroyed = false;

  write(text: string) {
    this.got.push(text);
    return this.takes;
  }

  end() {}

  destroy() {
    this.destroyed = true;
    this.emit("close");
  }

  get states() {
    return this.got.flatMap((text) => /data: (.*)\n/.exec(text)?.[1] ?? []);
  }
}

function world() {
  const time = new ManualTime();
  let taken = 0;
  let version = 0;
  const stateOf = () => {
    taken += 1;
    return `{"version":${version}}`;
  };
  const feed = new Feed({ intervalMs: 500, stalledMsMax: 3000, time, stateOf });
  const join = () => {
    const listener = new Listener();
    feed.add(listener as unknown as ServerResponse);
    return listener;
  };
  return { time, feed, join, taken: () => taken, change: () => (version += 1) };
}

test("nothing is computed, and no timer runs, while nobody looks", () => {
  const { time, join, taken, change } = world();
  change();
  time.pass(5000);
  expect(taken()).toBe(0);
  expect(time.timers.size).toBe(0);
  const listener = join();
  expect(taken()).toBe(1);
  expect(time.timers.size).toBe(1);
  listener.emit("close");
  time.pass(5000);
  expect(time.timers.size).toBe(0);
  expect(taken()).toBe(1);
});

test("a state is taken once per interval for everybody, however fast they come and things change", () => {
  const { time, feed, join, taken, change } = world();
  const listeners = Array.from({ length: 5 }, join);
  expect(feed.clients).toBe(5);
  expect(taken()).toBe(1);
  for (let i = 0; i < 400; i++) {
    change();
    time.pass(10);
    if (i === 3) listeners.push(join());
  }
  expect(taken()).toBe(1 + 4000 / 500);
  for (const { states } of listeners) expect(states.at(-1)).toBe('{"version":400}');
});

test("what has not changed is not sent again, but nobody is left in silence", () => {
  const { time, join } = world();
  const listener = join();
  time.pass(14_000);
  expect(listener.got).toHaveLength(1);
  time.pass(2000);
  expect(listener.got).toHaveLength(2);
  expect(listener.got[1]).toBe(": still here\n\n");
});

test("who does not take a state misses the next ones, and gets the newest when it takes again", () => {
  const { time, join, change } = world();
  const slow = join();
  const quick = join();
  slow.takes = false;
  change();
  time.pass(500);
  expect(slow.states).toEqual(['{"version":0}', '{"version":1}']);
  for (let i = 0; i < 3; i++) {
    change();
    time.pass(500);
  }
  expect(slow.states).toHaveLength(2);
  expect(quick.states).toHaveLength(5);
  slow.takes = true;
  slow.emit("drain");
  time.pass(500);
  expect(slow.states.at(-1)).toBe('{"version":4}');
  expect(slow.states).toHaveLength(3);
  expect(slow.destroyed).toBe(false);
});

test("who takes nothing for too long is cut off, and the others go on", () => {
  const { time, feed, join, change } = world();
  const dead = join();
  const alive = join();
  dead.takes = false;
  for (let i = 0; i < 10; i++) {
    change();
    time.pass(500);
  }
  expect(dead.destroyed).toBe(true);
  expect(dead.got.length).toBeLessThanOrEqual(2);
  expect(alive.destroyed).toBe(false);
  expect(feed.clients).toBe(1);
  feed.close();
  expect(alive.destroyed).toBe(true);
  expect(feed.clients).toBe(0);
  expect(time.timers.size).toBe(0);
});
