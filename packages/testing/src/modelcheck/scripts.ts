/** What an application asks, as the events that the scheduler's shell makes of it: so they are what the real one sends. */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";
import { type ApplicationEvent, SliceScheduler } from "slicescheduler";

/** So many instances, each of a request of its own; the last one may be more urgent than the others. */
export function separateScript(
  template: TemplateSpec,
  cluster: ClusterSpec,
  { instances, urgentLast }: { readonly instances: number; readonly urgentLast: boolean },
): ApplicationEvent[][] {
  return recorded(cluster, (scheduler, next) => {
    const handle = scheduler.register(template);
    for (let instance = 0; instance < instances; instance++) {
      next();
      const priority = urgentLast && instance < instances - 1 ? "offline" : "online";
      ignored(scheduler.submit(handle, { symbols: {}, priority }));
    }
  });
}

/** One request of two instances: the second reads what the first retains, which is released once that is sure. */
export function chainedScript(first: TemplateSpec, second: TemplateSpec, cluster: ClusterSpec): ApplicationEvent[][] {
  return recorded(cluster, (scheduler, next) => {
    const handles = [scheduler.register(first), scheduler.register(second)] as const;
    next();
    const limits = handles.map((template) => ({ template, symbols: {} }));
    const request = scheduler.openRequest({ limits });
    const before = scheduler.submit(handles[0], { symbols: {}, request, retain: ["last"] });
    ignored(before);
    next();
    ignored(scheduler.submit(handles[1], { symbols: {}, request, inputs: { before: before.output("last") } }));
    next();
    before.release("last");
    request.close();
  });
}

/** @param ask Calls its second argument before each part of the script. */
function recorded(
  cluster: ClusterSpec,
  ask: (scheduler: SliceScheduler, next: () => void) => void,
): ApplicationEvent[][] {
  const script: ApplicationEvent[][] = [];
  const scheduler = new SliceScheduler({
    cluster,
    executor: virtualExecutor({ seed: 0, time: new SimulatedTime() }),
    onEvent: (event) => {
      if (isAsked(event)) script.at(-1)?.push(event);
    },
  });
  ask(scheduler, () => script.push([]));
  scheduler.close();
  return script;
}

/** Registrations are none: they come before the script. */
function isAsked(event: { readonly type: string }): event is ApplicationEvent {
  return ["requestOpened", "requestClosed", "instanceSubmitted", "outputReleased"].includes(event.type);
}

function ignored({ done }: { readonly done: Promise<unknown> }): void {
  done.catch(() => {});
}
