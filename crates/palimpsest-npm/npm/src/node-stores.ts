// Where a program of Node's keeps sessions.

export { fileStorage, type FileStorage } from "./files/storage.js";
export { sqliteStorage, type SqliteStorage } from "./sqlite.js";
export type { StorageAdapter } from "./storage.js";
