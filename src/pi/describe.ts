/** What the live session tells the world about itself. */
import { type ExtensionAPI, type ExtensionContext, VERSION } from "@mariozechner/pi-coding-agent";
import type { HostFacts } from "../host.ts";
import { oneLine } from "../lib/text.ts";
import type { AgentSkill } from "../protocol/types.ts";
import { isOurs } from "./session-resources.ts";

/** As many as a card can hold and still be read whole. */
const MAX_SKILLS = 200;

type Command = ReturnType<ExtensionAPI["getCommands"]>[number];

/** A skill of the session as a card shows it. Names and descriptions come from files of many origins: one line each. */
function skillOf(command: Command): AgentSkill {
	const name = oneLine(command.name.replace(/^skill:/, ""), 80);
	return { id: name, name, description: oneLine(command.description ?? name, 500), tags: ["skill"] };
}

/** The facts of the session behind `pi` and `ctx`, as they are now. Throws once that session has been replaced. */
export function describeSession(pi: ExtensionAPI, ctx: ExtensionContext): HostFacts {
	const skills = new Map<string, AgentSkill>();
	for (const command of pi.getCommands()) {
		// Our own skill tells the host's model how to call others; it is nothing that others could ask for.
		if (command.source !== "skill" || isOurs(command.sourceInfo.path)) continue;
		const skill = skillOf(command);
		if (skill.name !== "" && skills.size < MAX_SKILLS) skills.set(skill.id, skill);
	}
	const sessionName = pi.getSessionName();
	return {
		pid: process.pid,
		cwd: ctx.cwd,
		...(ctx.model ? { model: `${ctx.model.provider}/${ctx.model.id}` } : {}),
		tools: pi.getActiveTools().map((name) => oneLine(name, 80)),
		skills: [...skills.values()],
		...(sessionName ? { sessionName: oneLine(sessionName, 120) } : {}),
		sessionId: ctx.sessionManager.getSessionId(),
		piVersion: VERSION,
	};
}
