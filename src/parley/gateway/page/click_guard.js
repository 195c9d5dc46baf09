/**
 * A guard that protects a question against clicks and keys that were meant for something else.
 *
 * A question may appear, move or change under a finger or pointer at any moment, because the agent
 * decides when it asks and when it withdraws a question. So a question that has appeared, moved or
 * changed accepts no answer for a while. If the pointer already rests on its buttons, they stay
 * closed until it has left them. A press that began while they were closed does not count, and
 * neither does a key that is held down.
 */

const TOO_EARLY = 500;
const CLICK_DELAY = 400; // browsers that wait for a second tap click this much later

let pointer = null; // the position of the mouse; null for a finger, which leaves no position

function follow(event) {
  pointer = event.pointerType === "touch" ? null : { x: event.clientX, y: event.clientY };
}

for (const kind of ["pointermove", "pointerdown", "pointerup"])
  addEventListener(kind, follow, { capture: true, passive: true });
document.addEventListener("pointerleave", () => {
  pointer = null;
});

export class ClickGuard {
  /** Guard a card on the page. Its class is `early` while it accepts no answer. */
  constructor(card) {
    this.card = card;
    this.timer = null;
    this.position = "";
    this.isUnder = false; // a pointer was on the buttons when the guard started, and still is
    this.isPressedEarly = false;
    this.releasing = null;
    this.ending = new AbortController();
    const { signal } = this.ending;
    const quiet = { capture: true, passive: true, signal };
    this.observer = new ResizeObserver(() => this.checkPosition());
    // Anything above or below the card may move it.
    const workspace = document.getElementById("workspace");
    for (const element of [card, ...workspace.children]) this.observer.observe(element);
    addEventListener("scroll", () => this.checkPosition(), quiet);
    addEventListener("resize", () => this.checkPosition(), quiet);
    addEventListener("focus", () => this.start(), { signal });
    document.addEventListener("visibilitychange", () => this.start(), { signal });
    addEventListener("pointermove", () => this.moved(), quiet);
    addEventListener("pointerdown", () => this.press(), quiet);
    addEventListener("keydown", (event) => event.repeat || this.press(), quiet);
    // The click comes after these, and counts as part of the press.
    for (const kind of ["pointerup", "pointercancel", "keyup"])
      addEventListener(kind, () => this.release(), quiet);
    this.checkPosition();
    this.start();
  }

  get isOpen() {
    return !this.card.classList.contains("early") && !this.isPressedEarly;
  }

  /** Accept no answer for a while. */
  start() {
    clearTimeout(this.timer);
    this.card.classList.add("early");
    this.card.classList.remove("covered");
    this.isUnder = this.isCovered();
    this.timer = setTimeout(() => this.open(), TOO_EARLY);
  }

  open() {
    this.timer = null;
    if (this.isUnder) this.card.classList.add("covered");
    else this.card.classList.remove("early", "covered");
  }

  /** Start again if the buttons have moved. */
  checkPosition() {
    const position = this.boxes().map(({ x, y }) => `${Math.round(x)},${Math.round(y)}`).join(" ");
    if (position === this.position) return;
    this.position = position;
    this.start();
  }

  moved() {
    if (!this.isUnder || this.isCovered()) return;
    this.isUnder = false;
    if (this.timer === null) this.open();
  }

  press() {
    clearTimeout(this.releasing); // of an earlier press
    this.checkPosition(); // it may have moved since the last frame
    this.isPressedEarly = this.card.classList.contains("early");
  }

  release() {
    clearTimeout(this.releasing);
    this.releasing = setTimeout(() => (this.isPressedEarly = false), CLICK_DELAY);
  }

  boxes() {
    const buttons = this.card.querySelectorAll(".buttons button, .buttons a");
    return [...buttons].map((button) => button.getBoundingClientRect());
  }

  /** Return whether the pointer is on a button. */
  isCovered() {
    if (pointer === null) return false;
    const { x, y } = pointer;
    return this.boxes().some(
      (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom,
    );
  }

  end() {
    clearTimeout(this.timer);
    clearTimeout(this.releasing);
    this.observer.disconnect();
    this.ending.abort();
  }
}
