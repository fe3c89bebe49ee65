/** Signals that many listen to. */
import { setMaxListeners } from "node:events";

/** A controller for many listeners at a time; of any other Node thinks from the eleventh on that it leaks, and says so. */
export function sharedController(): AbortController {
	const controller = new AbortController();
	setMaxListeners(0, controller.signal);
	return controller;
}
