/** `/a2a-doctor`. */
import { getAgentDir, VERSION } from "@mariozechner/pi-coding-agent";
import { diagnose, doctorText } from "../doctor.ts";
import { lookAround } from "../doctor-look.ts";
import type { CommandSetting } from "./command-run.ts";

export async function doctor(_args: string, { app, say, screen, clock, signal }: CommandSetting): Promise<void> {
	screen.working("A2A doctor: looking at the set-up");
	try {
		say(doctorText(diagnose(await lookAround({ app, agentDir: getAgentDir(), piVersion: VERSION, clock, signal }))));
	} finally {
		screen.working(undefined);
	}
}
