/** Where the mailbox is. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The folder of the mailbox: what `mailbox.root` says (`~/` is the home), else a folder of Pi's agent directory. */
export function mailboxRoot(configured: string, agentDir: string): string {
	return resolve(configured.replace(/^~(?=\/|$)/, homedir()) || join(agentDir, "a2a_mailbox"));
}
