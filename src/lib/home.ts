/** Paths that a person wrote. */
import { homedir } from "node:os";

/** `path` with a leading `~` replaced by the home folder. */
export const fromHome = (path: string): string => path.replace(/^~(?=[/\\]|$)/, () => homedir());
