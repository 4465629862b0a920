// Failures of a storage, with the codes that its contract names.

/** A failure with a code of ours. */
export function refuse(code: string, message: string = code): Error {
  return Object.assign(new Error(message), { code });
}

/** The code of a failure: ours, or the system's. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/** A failure of the file system with a code of ours, where there is one for it. */
export function meaning(error: unknown): unknown {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === "ENOSPC" || code === "EDQUOT") return refuse("storage_quota", message);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOTDIR") return refuse("storage_unavailable", message);
  return error;
}
