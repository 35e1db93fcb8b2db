// When a head found its role: from this checkpoint on, to the last one and in at least two, it has one and the same role, neither "none" nor "uniform", and had none or another before.
import type { HeadsFrame } from "../../api/jobs";

export interface FoundRole { head: string; role: string; step: number }

export function foundRoles(frames: HeadsFrame[]): FoundRole[] {
  const found: FoundRole[] = [];
  for (const { name } of frames.at(-1)?.heads ?? []) {
    const roles = frames.map((frame) => frame.heads.find((one) => one.name === name)?.role);
    const role = roles.at(-1);
    if (role === undefined || role === "none" || role === "uniform") continue;
    let first = roles.length - 1;
    while (first > 0 && roles[first - 1] === role) --first;
    if (first > 0 && first < roles.length - 1) found.push({ head: name, role, step: (frames[first] as HeadsFrame).step });
  }
  return found.sort((a, b) => a.step - b.step);
}
