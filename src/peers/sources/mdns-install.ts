/** What to do when the optional package is not there. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Not installed, in the words of Node's two loaders and of the one that Pi uses. */
export function isNotInstalled(error: unknown): boolean {
	const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
	if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return true;
	return /^Cannot find (module|package) /.test(String(message));
}

/**
 * The command that puts the package where these files find it: beside the extension, for what Pi itself was installed
 * with is out of reach. `here`: the path of a file of this folder.
 */
export function installHint(
	here: string = fileURLToPath(import.meta.url),
	exists: (path: string) => boolean = existsSync,
): string {
	const root = here.replace(/[\\/]src[\\/]peers[\\/]sources[\\/][^\\/]*$/, "");
	// Installed as a package, the extension lies in a folder `node_modules`, and its neighbours do too.
	const place = root.replace(/[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+$/, "");
	return `Run: npm i bonjour-service ${how(root, place, exists)} and then /reload`;
}

function how(root: string, place: string, exists: (path: string) => boolean): string {
	// A checkout: neither its package.json nor what is needed to develop it is the user's concern.
	if (place === root) return `-P --no-save --omit=dev --prefix "${root}"`;
	// Without a package.json npm would take everything that is there for left over, and remove it.
	return exists(`${place}/package.json`) ? `--legacy-peer-deps --prefix "${place}"` : "-g";
}
