/**
 * Sessions that serve a peer. Such a session loads the same extensions as the host, this one included, and must not
 * start a second server.
 */
import type { ExtensionContext } from "@mariozechner/pi-coding-agent";

/** This process's set of their session managers: on `globalThis`, since every load of a module has its own variables. */
const KEY = Symbol.for("pi-a2a.children");

interface Shared {
	[KEY]?: WeakSet<object>;
}

/** From now on the session of `manager` is one that serves a peer. */
export function markChild(manager: object): void {
	const shared = globalThis as Shared;
	shared[KEY] ??= new WeakSet();
	shared[KEY].add(manager);
}

/** Whether the session of `ctx` serves a peer. */
export function servesPeer(ctx: Pick<ExtensionContext, "sessionManager">): boolean {
	return (globalThis as Shared)[KEY]?.has(ctx.sessionManager) ?? false;
}
