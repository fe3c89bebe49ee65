/**
 * What is said in the demo. With the scripted model the lines are its directives (see test/support/fake-llm.ts); with
 * a real model they are plain requests.
 */

export interface Scripts {
	/** A lists its peers and hands B a first piece of work. */
	readonly first: string;
	/** A goes on in the same conversation. */
	readonly second: (contextId: string) => string;
	/** A starts a long job without waiting for it. */
	readonly dispatch: string;
	/** A waits for that job. */
	readonly follow: (taskId: string) => string;
}

const call = (tool: string, args: object) => `CALL ${tool} ${JSON.stringify(args)}`;

/** Directives for both models: the message to B is itself a script that B's model follows. */
export const scripted: Scripts = {
	first: [
		call("a2a_peers", {}),
		call("a2a_call", {
			agent: "bee",
			message: [
				"Please count the open TODO comments in this workspace. The password of the day is heliotrope.",
				call("bash", { command: "grep -rn TODO src" }),
				call("read", { path: "notes.md" }),
				"STREAM 8 25",
				"SAY There are two open TODO comments: one in src/parser.js, one in src/printer.js.",
			].join("\n"),
		}),
		"RESULT",
	].join("\n"),
	second: (contextId) =>
		[
			call("a2a_call", {
				agent: "bee",
				context_id: contextId,
				message: "Which password of the day did I mention?\nFIND heliotrope",
			}),
			"RESULT",
		].join("\n"),
	dispatch: [
		call("a2a_call", {
			agent: "bee",
			async_dispatch: true,
			message: [
				"Re-index everything, this takes a while.",
				call("bash", { command: "sleep 2; ls src" }),
				"SAY Index rebuilt.",
			].join("\n"),
		}),
		"RESULT",
	].join("\n"),
	follow: (taskId) => [call("a2a_status", { agent: "bee", task_id: taskId, wait_seconds: 30 }), "RESULT"].join("\n"),
};

/** The same story for a real model. */
export const spoken: Scripts = {
	first:
		"List the A2A peers with a2a_peers. Then use a2a_call to ask the peer 'bee': \"Count the TODO comments below src/ " +
		'with your tools and tell me the files. Also remember: the password of the day is heliotrope." Tell me what it said.',
	second: (contextId) =>
		`Use a2a_call on the peer 'bee' again with context_id "${contextId}" and ask which password of the day I mentioned.`,
	dispatch:
		"Use a2a_call on the peer 'bee' with async_dispatch true and ask it to run 'sleep 2; ls src' and report the file names. " +
		"Do not wait for the result.",
	follow: (taskId) => `Use a2a_status on agent 'bee', task_id "${taskId}", wait_seconds 60, and tell me the result.`,
};
