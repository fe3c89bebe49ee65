/** The parts of a running extension, as tools, commands and the host's screen see them. */
export type {};
