/**
 * Loads the rows of a recording, and follows it while it grows.
 *
 * The rows that exist are loaded in batches. Rows may change meanwhile, so the stream that follows
 * starts with the changes since the first batch.
 */

import { EventStream, get, recordingUrl } from "./api.js";
import { RowTable } from "./rows.js";

const BATCH_ROWS = 5_000;

export class RecordingLoader {
  /**
   * Load a recording. `view` has `rowsAdded`, `rowsChanged`, `ended(problem)`,
   * `connected(isConnected)` and `failed(error)`.
   */
  constructor(key, view) {
    this.key = key;
    this.view = view;
    this.table = new RowTable();
    this.changes = 0;
    this.isLive = false;
    this.problem = null;
    this.isLoading = true;
    this.stream = null;
    this.abort = new AbortController();
  }

  close() {
    this.abort.abort();
    this.stream?.close();
  }

  async load() {
    try {
      await this.loadBatches();
    } catch (error) {
      if (!this.abort.signal.aborted) this.view.failed(error);
      return;
    }
    this.isLoading = false;
    if (this.isLive) this.follow();
    else this.view.ended(this.problem);
    this.view.rowsAdded();
  }

  async loadBatches() {
    let batch = await this.batch();
    this.changes = batch.changes;
    while (batch.rows.length > 0) {
      // The next batch is on its way while this one is taken in.
      const next = this.isLast(batch) ? null : this.batch(batch.rows.at(-1)[0]);
      this.table.put(batch.rows);
      this.view.rowsAdded();
      if (next === null) break;
      batch = await next;
    }
    this.isLive = batch.is_live;
    this.problem = batch.problem;
  }

  isLast(batch) {
    return batch.rows.at(-1)[0] >= batch.total;
  }

  batch(after = 0) {
    const query = { after, limit: BATCH_ROWS };
    return get(recordingUrl(this.key, "rows", query), this.abort.signal);
  }

  follow() {
    const url = () =>
      recordingUrl(this.key, "stream", { after: this.table.length, changes: this.changes });
    const handlers = {
      rows: (batch) => {
        this.table.put(batch.rows);
        this.changes = batch.changes;
        this.view.rowsAdded();
      },
      changed: ({ rows }) => {
        this.table.put(rows);
        this.view.rowsChanged();
      },
      end: ({ problem }) => {
        this.isLive = false;
        this.stream.close();
        this.view.ended(problem);
      },
    };
    this.stream = new EventStream(url, handlers, (isConnected) => this.view.connected(isConnected));
  }
}
