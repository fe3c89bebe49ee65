/**
 * `npm run demo`: two real Pi processes hand each other work over A2A. Without arguments the model is scripted and
 * nothing leaves this machine; `npm run demo -- --model provider/id` uses a real model with your own key.
 *
 * Exits 0 only when everything in CLAIMS was observed; leaves no process and no file behind.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type FakeLlm, startFakeLlm } from "../test/support/fake-llm.ts";
import { makeAgentDir, PI, type PiRpc, startPiRpc } from "../test/support/pi-host.ts";
import { checklist } from "./observed.ts";
import { scripted, spoken } from "./scripts.ts";
import { contextIdIn, taskIdIn, teller, toolRuns } from "./story.ts";

const CLAIMS = [
	"A's model found B with a2a_peers",
	"B's Agent Card is public and names its skills and interface",
	"B worked with Pi's own tools on the files of its workspace",
	"B's reply reached A while B was still writing",
	"A's model received the whole reply",
	"a second call in the same context remembered the first",
	"a dispatched job was acknowledged before it was done",
	"a2a_status brought the result of the job",
	"both sides wrote their audit log",
	"nothing was left behind",
] as const;

const { values: options } = parseArgs({
	options: { model: { type: "string" }, keep: { type: "boolean", default: false } },
});
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = teller((line) => process.stdout.write(`${line}\n`));
const checks = checklist(CLAIMS);
const script = options.model ? spoken : scripted;
/** A token for this run only. */
const token = `demo-${process.pid}-${Date.now().toString(36)}`;

const getText = (url: string): Promise<string> =>
	new Promise((resolve, reject) => {
		get(url, (response) => {
			let body = "";
			response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
			response.on("end", () => resolve(body)).on("error", reject);
		}).on("error", reject);
	});

const reachable = (url: string): Promise<boolean> =>
	getText(url).then(
		() => true,
		() => false,
	);

function workspace(dir: string): string {
	mkdirSync(join(dir, "src"), { recursive: true });
	writeFileSync(join(dir, "notes.md"), "# Notes\n\nThe parser and the printer still need work.\n");
	writeFileSync(
		join(dir, "src/parser.js"),
		"// TODO: handle comments\nexport const parse = (text) => text.split(/\\s+/);\n",
	);
	writeFileSync(
		join(dir, "src/printer.js"),
		"// TODO: wrap long lines\nexport const print = (words) => words.join(' ');\n",
	);
	return dir;
}

/** An agent directory of its own, with the scripted model or with a copy of the user's credentials. */
function agentDir(dir: string, llm: FakeLlm | undefined, a2a: object): string {
	if (llm) return makeAgentDir({ llmUrl: llm.url, dir, settings: { a2a } });
	mkdirSync(dir, { recursive: true, mode: 0o700 });
	const own = process.env.PI_CODING_AGENT_DIR ?? join(homedir(), ".pi/agent");
	for (const file of ["auth.json", "models.json"]) {
		if (existsSync(join(own, file))) cpSync(join(own, file), join(dir, file));
	}
	writeFileSync(join(dir, "settings.json"), JSON.stringify({ quietStartup: true, a2a }, null, 2), { mode: 0o600 });
	return dir;
}

function start(name: string, dir: string, cwd: string): Promise<PiRpc> {
	const model = options.model ? ["--model", options.model] : [];
	say.host(`starting Pi ${name} (its own agent directory, extension loaded from this checkout)`);
	return startPiRpc({ pi: PI["0.73.1"], agentDir: dir, cwd, args: ["--no-session", "-e", root, ...model] });
}

/** B's address, from the entry it keeps in its registry. */
async function addressOf(dir: string): Promise<string> {
	const registry = join(dir, "a2a_registry");
	for (let tries = 0; tries < 600; tries++) {
		const file = existsSync(registry) ? readdirSync(registry).find((name) => name.endsWith(".json")) : undefined;
		if (file) return (JSON.parse(readFileSync(join(registry, file), "utf8")) as { url: string }).url;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error("B's server did not announce itself within 30 s");
}

const auditOf = (dir: string): string[] =>
	existsSync(join(dir, "a2a_audit.jsonl")) ? readFileSync(join(dir, "a2a_audit.jsonl"), "utf8").trim().split("\n") : [];

async function play(folder: string, llm: FakeLlm | undefined, hosts: PiRpc[]): Promise<string> {
	const bDir = agentDir(join(folder, "agent-b"), llm, {
		server: { enabled: true, port: 0, agentName: "bee", peerTokens: { ant: token } },
	});
	const b = await start("B", bDir, workspace(join(folder, "work-b")));
	hosts.push(b);
	const url = await addressOf(bDir);

	const card = JSON.parse(await getText(new URL("/.well-known/agent-card.json", url).href));
	say.card(card);
	checks.see(CLAIMS[1], card.name === "bee" && card.supportedInterfaces?.[0]?.protocolBinding === "JSONRPC");

	const aDir = agentDir(join(folder, "agent-a"), llm, {
		selfIdentity: "ant",
		peers: { bee: { url, auth: { type: "bearer", token }, capabilities: ["code"] } },
	});
	const a = await start("A", aDir, workspace(join(folder, "work-a")));
	hosts.push(a);
	a.onEvent = (event) => say.progress("A", event);

	say.title("A asks B to look into its workspace");
	const first = await a.prompt(script.first);
	const [peers] = toolRuns(first.events, "a2a_peers");
	const [call] = toolRuns(first.events, "a2a_call");
	checks.see(CLAIMS[0], peers?.text.includes("bee") ?? false);
	checks.see(CLAIMS[3], (call?.updates.filter((text) => text !== "").length ?? 0) >= 2);
	checks.see(CLAIMS[4], call !== undefined && !call.failed && /TODO/.test(call.text) && /parser/.test(first.text));
	say.reply("B", call?.text ?? "(no reply)");

	const transcripts = join(bDir, "a2a_sessions");
	const history = readdirSync(transcripts)
		.filter((name) => name.endsWith(".jsonl"))
		.map((name) => readFileSync(join(transcripts, name), "utf8"))
		.join("\n");
	checks.see(CLAIMS[2], /"toolName":"bash"/.test(history) && /TODO: wrap long lines/.test(history));

	say.title("A goes on in the same conversation");
	const second = await a.prompt(script.second(contextIdIn(call?.text ?? "") ?? "none"));
	const [followUp] = toolRuns(second.events, "a2a_call");
	checks.see(CLAIMS[5], /heliotrope/i.test(followUp?.text ?? "") && !/NOT FOUND/.test(followUp?.text ?? ""));
	say.reply("B", followUp?.text ?? "(no reply)");

	say.title("A dispatches a long job and does not wait");
	const third = await a.prompt(script.dispatch);
	const [dispatch] = toolRuns(third.events, "a2a_call");
	const id = taskIdIn(dispatch?.text ?? "");
	checks.see(CLAIMS[6], id !== undefined && /detached/.test(dispatch?.text ?? ""));
	say.reply("B", dispatch?.text ?? "(no acknowledgement)");

	say.title("A checks on the job");
	const fourth = await a.prompt(script.follow(id ?? "none"));
	const [status] = toolRuns(fourth.events, "a2a_status");
	checks.see(CLAIMS[7], /completed/i.test(status?.text ?? "") && /Index rebuilt|printer\.js/.test(status?.text ?? ""));
	say.reply("B", status?.text ?? "(no status)");

	for (const host of hosts) await host.stop();
	say.title("What the audit logs say");
	say.audit("A", auditOf(aDir));
	say.audit("B", auditOf(bDir));
	checks.see(CLAIMS[8], auditOf(aDir).length >= 4 && auditOf(bDir).length >= 3);
	return url;
}

const folder = mkdtempSync(join(tmpdir(), "pi-a2a-demo-"));
const hosts: PiRpc[] = [];
let llm: FakeLlm | undefined;
let failure: unknown;
try {
	llm = options.model ? undefined : await startFakeLlm();
	const url = await play(folder, llm, hosts);
	const alive = hosts.filter((host) => host.exitCode === undefined);
	if (!options.keep) rmSync(folder, { recursive: true, force: true });
	checks.see(CLAIMS[9], alive.length === 0 && !(await reachable(url)) && (options.keep || !existsSync(folder)));
} catch (error) {
	failure = error;
} finally {
	for (const host of hosts) await host.stop();
	await llm?.close();
	if (!options.keep) rmSync(folder, { recursive: true, force: true });
}
const missing = checks.missing();
say.end(CLAIMS, missing, failure, hosts.map((host) => host.stderr).join(""));
process.exitCode = failure || missing.length > 0 ? 1 : 0;
