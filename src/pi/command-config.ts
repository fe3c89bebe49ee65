/** `/a2a-config`: the panel where there is a terminal, else the plain text. */
import type { App } from "../app.ts";
import { originText } from "../config/show.ts";
import { oneLine } from "../lib/text.ts";
import type { CommandSetting } from "./command-run.ts";
import { serverText } from "./command-server.ts";
import { UsageError } from "./commands.ts";
import { createPanel } from "./panel.ts";
import type { Edits, PanelState } from "./panel-rows.ts";

/** Lines of the screen that are not the panel's: its own frame, the footer, some of the conversation. */
const OTHER_LINES = 12;

export async function config(args: string, setting: CommandSetting): Promise<void> {
	const word = args.trim().toLowerCase();
	if (word !== "" && word !== "show") throw new UsageError("a2a-config", `There is no "${oneLine(word, 40)}".`);
	if (word === "show" || setting.screen.mode !== "tui") return setting.say(setting.app.loaded.show());
	const edits = await openPanel(setting);
	if (!edits || edits.size === 0) return;
	const effects = await setting.app.apply(edits);
	const switched = edits.has("server.enabled") ? await switchServer(setting) : [];
	setting.refresh();
	// That it was restarted on the way is no news then.
	setting.say((switched.length > 0 ? [...effects.slice(0, 1), ...switched] : effects).join("\n"));
}

/** Who switches the server on or off for every session means this one as well. */
async function switchServer({ app, startServer }: CommandSetting): Promise<string[]> {
	const { serverEnabled } = app.loaded.config;
	const { running } = app.server.status();
	if (serverEnabled === running) return [];
	if (!serverEnabled) {
		await app.server.stop();
		return ["A2A server stopped."];
	}
	await startServer();
	return [serverText(app.server.status())];
}

/** Values and origins of the configuration in force. */
export function stateOf({ loaded }: App): Pick<PanelState, "value" | "origin"> {
	return {
		value: (key) => loaded.values[key],
		origin: (key) => {
			const origin = loaded.origins.get(key);
			return !origin || origin.layer === "default" ? "" : originText(origin);
		},
	};
}

function openPanel({ app, screen }: CommandSetting): Promise<Edits | undefined> {
	return screen.dialog((ui) =>
		ui.custom<Edits>((tui, theme, _keys, done) =>
			createPanel({
				theme,
				...stateOf(app),
				height: () => Math.min(24, (process.stdout.rows ?? 24) - OTHER_LINES),
				redraw: () => tui.requestRender(),
				done,
			}),
		),
	);
}
