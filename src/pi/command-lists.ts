/** `/a2a-discover`, `/a2a-agents`, `/a2a-peers`, `/a2a-list`. */
import { unquoted } from "./command-args.ts";
import type { CommandSetting } from "./command-run.ts";
import { UsageError } from "./commands.ts";
import { failureText } from "./format.ts";
import { agentsText, cardText, peersText } from "./format-lists.ts";

export async function discover(args: string, { app, say, signal }: CommandSetting): Promise<void> {
	const url = unquoted(args);
	if (url === "") throw new UsageError("a2a-discover", "Which agent?");
	try {
		say(cardText(await app.outbound.discover(url, signal)));
	} catch (error) {
		throw new Error(failureText(url, error), { cause: error });
	}
}

export async function agents(_args: string, { app, say }: CommandSetting): Promise<void> {
	say(agentsText((await app.outbound.list()).peers));
}

export async function peers(_args: string, { app, say }: CommandSetting): Promise<void> {
	say(peersText(await app.outbound.peers()));
}

export async function mail(_args: string, { app, say }: CommandSetting): Promise<void> {
	say(await app.mailbox.list());
}
