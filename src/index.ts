/**
 * What Pi loads. Registrations only: the factory runs on every start, reload and new session, and a throw here keeps
 * Pi from starting, so everything that works is imported when it is first needed.
 */
import { type ExtensionAPI, type ExtensionContext, getAgentDir } from "@mariozechner/pi-coding-agent";
import { servesPeer } from "./pi/children.ts";
import { registerCommands } from "./pi/commands.ts";
import { isConfigured } from "./pi/configured.ts";
import type { Extension } from "./pi/extension.ts";
import { registerTools } from "./pi/tools.ts";
import { registerTranscript } from "./pi/transcript.ts";
import { screenOf } from "./pi/ui.ts";

export default function a2a(pi: ExtensionAPI): void {
	let session: ExtensionContext | undefined;
	let loading: Promise<Extension> | undefined;
	let starting: Promise<unknown> | undefined;

	/** The extension, its session begun. */
	async function ready(): Promise<Extension> {
		loading ??= import("./pi/extension.ts").then(({ createExtension }) => createExtension(pi));
		const extension = await loading;
		if (session) extension.start(session);
		return extension;
	}

	registerTools(pi, async (...call) => (await ready()).tool(...call));
	registerCommands(pi, async (...call) => (await ready()).command(...call), {
		peers: async () => (await ready()).peers(),
		contexts: async () => (await ready()).contexts(),
	});
	registerTranscript(pi);
	// Handlers are awaited by the host: the start goes on behind its back, the end does not.
	pi.on("session_start", (_event, ctx) => {
		if (servesPeer(ctx)) return;
		session = ctx;
		if (!ctx.hasUI && !isConfigured(getAgentDir(), process.env)) return;
		const failed = (error: unknown) => screenOf(() => ctx).notify(`A2A could not be loaded: ${String(error)}`, "error");
		starting = ready().catch(failed);
	});
	pi.on("session_shutdown", async (_event, ctx) => {
		if (servesPeer(ctx)) return;
		await starting;
		session = undefined;
		await loading?.then(
			(extension) => extension.stop(),
			() => undefined, // said when it was asked for
		);
	});
}
