import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { leaves, loadsLater, type Places, redirections } from "../../src/pi/protected-paths.ts";

describe("places that peers' file tools keep out of", () => {
	let root: string;
	let places: Places;
	before(() => {
		root = mkdtempSync(join(tmpdir(), "a2a-places-"));
		const home = join(root, "home");
		const agentDir = join(home, ".pi", "agent");
		const workspace = join(home, "work", "project");
		const taskFolder = join(agentDir, "a2a_files", "task-1");
		const skills = join(agentDir, "skills", "lint");
		for (const folder of [workspace, taskFolder, skills, join(workspace, ".pi"), join(workspace, "src")])
			mkdirSync(folder, { recursive: true });
		writeFileSync(join(skills, "SKILL.md"), "");
		symlinkSync(join(workspace, ".pi"), join(workspace, "linked"));
		symlinkSync("linked/../.pi/new.ts", join(workspace, "dangling.ts"));
		symlinkSync("second", join(workspace, "first"));
		symlinkSync("first", join(workspace, "second"));
		symlinkSync("/etc", join(workspace, "away"));
		places = { workspace, agentDir, taskFolder, readable: [skills], home };
	});
	after(() => rmSync(root, { recursive: true, force: true }));

	const guarded = (...paths: string[]) => {
		for (const path of paths) assert.equal(loadsLater(path, places), true, path);
	};
	const open = (...paths: string[]) => {
		for (const path of paths) assert.equal(loadsLater(path, places), false, path);
	};

	it("know what loads into Pi", () => {
		guarded(".pi/extensions/x.ts", ".pi", "packages/a/.pi/settings.json", ".agents/skills/x/SKILL.md");
		guarded("AGENTS.md", "src/CLAUDE.md", "agents.md", "../AGENTS.md");
		guarded(join(places.agentDir, "settings.json"), join(places.agentDir, "extensions/x.ts"));
	});
	it("know what git runs", () => guarded(".git/hooks/pre-commit", ".git/config", ".git", ".husky/pre-push"));
	it("know what shells and other programs read from the home folder", () => {
		const home = places.home ?? "";
		guarded(join(home, ".bashrc"), join(home, ".ssh", "authorized_keys"), join(home, ".config", "x"), "../../.zshrc");
	});
	it("see through links, also those that lead to what is not there yet", () => {
		guarded("linked/x.ts", "dangling.ts", "src/../linked/deep/er.ts");
	});
	it("see through other ways to write a path", () => {
		guarded("src/../.pi/x", "./.pi//x", "@.pi/x", ".PI/x", ".Git/Config", `${places.workspace}/.pi/x`);
		guarded(pathToFileURL(join(places.workspace, ".pi", "x")).href, "src/\u00a0/../../.pi/x");
		guarded("AGENTS.md\u00a0");
	});
	it("come to an end with links in a circle", () => open("first/x"));
	it("leave ordinary work alone", () => {
		open("src/index.ts", "README.md", "pi/x", ".gitignore", ".github/workflows/ci.yml", ".env", "docs/agents.md.txt");
		open(join(places.taskFolder, "out.txt"), join(tmpdir(), "x"), "/dev/null");
	});
	it("leave a workspace alone that lies below a hidden folder of the home folder", () => {
		const workspace = join(places.home ?? "", ".cache", "work");
		assert.equal(loadsLater("src/x.ts", { ...places, workspace }), false);
		assert.equal(loadsLater("../../.bashrc", { ...places, workspace }), true);
	});

	it("tell what leads out of the workspace", () => {
		for (const path of ["/etc/passwd", "..", "../other/x", "~/.ssh/id", "away/passwd", places.agentDir, "@/etc/passwd"])
			assert.equal(leaves(path, places), true, path);
		for (const path of [".", "src/x.ts", "src/../x", join(places.taskFolder, "in/a.txt"), places.readable[0] ?? ""])
			assert.equal(leaves(path, places), false, path);
	});

	it("read the targets of plain redirections", () => {
		const command = `make 2>&1 | tee -a "a b.log" >/dev/null; echo x >> .git/config && cat <in >| 'out file'`;
		assert.deepEqual(redirections(command), ["a b.log", "/dev/null", ".git/config", "out file"]);
	});
});
