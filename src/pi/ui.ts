/** Speaks to whoever sits in front of this host, in every mode it can run in. */
import type { ExtensionContext } from "@mariozechner/pi-coding-agent";
import { matchesKey } from "@mariozechner/pi-tui";

export type Mode = "tui" | "rpc" | "json" | "print";
export type Kind = "info" | "warning" | "error";
/** The host's dialogs. */
export type Ui = ExtensionContext["ui"];

/** How the host of `ctx` runs. Pi before 1.0 does not say; it cannot tell json from print, both are `print` then. */
export function modeOf(ctx: ExtensionContext): Mode {
	const said = (ctx as ExtensionContext & { readonly mode?: Mode }).mode;
	if (said) return said;
	if (!ctx.hasUI) return "print";
	return ctx.ui.getAllThemes().length > 0 ? "tui" : "rpc";
}

/** What can be said to the user of one session. Nothing here throws, and nothing happens once the session is over. */
export interface Screen {
	/** `undefined` when the session is over. */
	readonly mode: Mode | undefined;
	/** The host works on no turn and has none waiting. False once the session is over. */
	readonly idle: boolean;
	/** Something to know now: a toast; where there is no screen a line on stderr. */
	notify(text: string, kind?: Kind): void;
	/** One line in the footer; `undefined` clears it. */
	status(text: string | undefined): void;
	/** A second line in the footer, while something that the user asked for is under way. */
	working(text: string | undefined): void;
	/** Calls `stop` when Esc is pressed at a terminal; the result ends that. The host gets the key as well. */
	onEscape(stop: () => void): () => void;
	/** Opens a dialog when no other of ours is open; they wait for each other. `undefined` without a terminal. */
	dialog<T>(open: (ui: Ui) => Promise<T>): Promise<T | undefined>;
}

/**
 * The screen of the session whose context `current` gives; `undefined` when there is none any more. A context that
 * the host has replaced throws on use, and news of the inbound side may come at any time, so nothing is held.
 */
export function screenOf(current: () => ExtensionContext | undefined): Screen {
	// Before 1.0 a second dialog replaces the first, whose promise then never resolves: ours wait for each other.
	let open: Promise<unknown> = Promise.resolve();
	const safely = <T>(use: (ctx: ExtensionContext) => T): T | undefined => {
		try {
			const ctx = current();
			return ctx && use(ctx);
		} catch (error) {
			return replaced(error);
		}
	};
	return {
		get mode() {
			return safely(modeOf);
		},
		get idle() {
			return safely((ctx) => ctx.isIdle() && !ctx.hasPendingMessages()) ?? false;
		},
		notify(text, kind = "info") {
			safely((ctx) => (ctx.hasUI ? ctx.ui.notify(text, kind) : console.error(text)));
		},
		status(text) {
			safely((ctx) => ctx.hasUI && ctx.ui.setStatus("a2a", text));
		},
		working(text) {
			safely((ctx) => ctx.hasUI && ctx.ui.setStatus("a2a-call", text));
		},
		onEscape(stop) {
			const listener = (data: string) => void (matchesKey(data, "escape") && stop());
			const leave = safely((ctx) => (modeOf(ctx) === "tui" ? ctx.ui.onTerminalInput(listener) : undefined));
			return () => safely(() => leave?.());
		},
		async dialog(show) {
			const shown = open.then(() => safely((ctx) => (modeOf(ctx) === "tui" ? show(ctx.ui) : undefined)));
			open = shown.then(
				() => undefined,
				() => undefined,
			);
			return shown;
		},
	};
}

/** Puts a question to whoever sits in front: at a terminal after other dialogs of ours, else through the host's client. */
export function confirmOn(screen: Screen, ctx: () => ExtensionContext) {
	return async (question: string, signal: AbortSignal): Promise<boolean> => {
		const show = (ui: Ui) => ui.confirm("A2A", question, { signal });
		return screen.mode === "tui" ? ((await screen.dialog(show)) ?? false) : show(ctx().ui);
	};
}

/** The session was replaced while something was on its way to its screen: there is nobody to tell. */
const replaced = (_error: unknown): undefined => undefined;
