/** What contracts call the tools of a session: by their own names, or by those that the mailbox protocol's text uses. */

const OTHERS: { readonly [name: string]: string } = {
	list_files: "ls",
	read_file: "read",
	write_file: "write",
	edit_file: "edit",
	find_files: "find",
	search_files: "grep",
	run_command: "bash",
};

/** The names of tools that `capabilities` means. Case makes no difference. */
export function toolsNamed(capabilities: readonly string[]): readonly string[] {
	const names = capabilities.map((each) => each.trim().toLowerCase());
	return [...new Set(names.flatMap((name) => [name, ...(Object.hasOwn(OTHERS, name) ? [OTHERS[name] ?? name] : [])]))];
}

/** `tools`, and what else they are called. */
export function alsoNamed(tools: readonly string[]): readonly string[] {
	const others = Object.entries(OTHERS).filter(([, tool]) => tools.includes(tool));
	return [...tools, ...others.map(([name]) => name)];
}
