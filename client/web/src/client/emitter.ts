// Typed events: one listener set a name.

export class Emitter<Events> {
  private readonly listeners = new Map<keyof Events, Set<(value: never) => void>>();

  /** Returns what removes the listener again. */
  on<K extends keyof Events>(name: K, listener: (value: Events[K]) => void): () => void {
    const set = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, set);
    set.add(listener as (value: never) => void);
    return () => set.delete(listener as (value: never) => void);
  }

  protected emit<K extends keyof Events>(name: K, value: Events[K]): void {
    for (const listener of [...(this.listeners.get(name) ?? [])]) {
      (listener as (value: Events[K]) => void)(value);
    }
  }
}
