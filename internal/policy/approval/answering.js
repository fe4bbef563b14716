// When a press on an answer counts. The console and the page in a client's window have
// this one module: a button counts only if its card, and every card above it, has been
// as it is for a while, and a question that is gone stays in its place, grey, until the
// pointer has left. So nothing that an agent does moves another answer under a hand.

const early = 700; // ms

// Steady watches the cards within an element. say tells the person why a press did not
// count.
class Steady {
  since = new WeakMap(); // card → when it, or what is above it, has last changed
  tops = new WeakMap();
  timer = 0;

  constructor(place, cards, say) {
    Object.assign(this, { place, cards, say });
    new MutationObserver((changes) => this.changed(changes)).observe(place, { childList: true, characterData: true, subtree: true });
    new ResizeObserver(() => this.look()).observe(document.body);
    for (const kind of ['click', 'submit']) addEventListener(kind, (event) => this.judge(event), true);
    place.addEventListener('pointerleave', () => this.clear());
    this.look();
  }

  all() { return [...this.place.querySelectorAll(this.cards)]; }

  // changed notes the cards in which something is new. Ages count on by themselves.
  changed(changes) {
    for (const { target } of changes) {
      const at = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
      const card = at?.closest('time') ? null : at?.closest(this.cards);
      if (card) this.touch(card);
    }
    this.look();
  }

  // look notes the cards that have come or have moved.
  look() {
    for (const card of this.all()) {
      const box = card.getBoundingClientRect();
      const top = Math.round(box.top + scrollY);
      if (box.height === 0) { // it cannot be seen, and comes when it can
        this.tops.delete(card);
      } else if (this.tops.get(card) !== top) {
        this.tops.set(card, top);
        this.touch(card);
      }
    }
  }

  // touch holds a card, and those below it.
  touch(card) {
    const list = this.all();
    for (const one of list.slice(Math.max(0, list.indexOf(card)))) this.since.set(one, performance.now());
    this.show();
  }

  // counts reports whether a press on a card counts now.
  counts(card) {
    return !card.hasAttribute('data-gone') && performance.now() - (this.since.get(card) ?? Infinity) >= early;
  }

  // show says of each button whether it counts.
  show() {
    clearTimeout(this.timer);
    let held = false;
    for (const card of this.all()) {
      const counts = this.counts(card);
      held ||= !counts && !card.hasAttribute('data-gone');
      for (const button of card.querySelectorAll('button')) {
        if (counts) button.removeAttribute('aria-disabled');
        else button.setAttribute('aria-disabled', 'true');
      }
    }
    if (held) this.timer = setTimeout(() => this.show(), 50);
  }

  // judge takes away a press that does not count.
  judge(event) {
    const at = event.submitter ?? event.target.closest?.('button, input');
    const card = at?.closest?.(this.cards);
    if (!card || !this.place.contains(card) || event.type === 'click' && at.nodeName !== 'BUTTON') return;
    this.look();
    if (this.counts(card)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.say(card.hasAttribute('data-gone') ? 'This question is gone: nothing was answered.' : 'It has just changed, so nothing was answered. Look again, and press once more.');
  }

  // leave marks a question that is gone, and leaves it where it is while the pointer is
  // over the questions. It reports whether it stays.
  leave(card) {
    if (!this.place.matches(':hover')) return false;
    if (!card.hasAttribute('data-gone')) {
      card.setAttribute('data-gone', '');
      for (const control of card.querySelectorAll('button, input')) control.disabled = true;
      this.touch(card);
    }
    return true;
  }

  // clear takes away what is gone.
  clear() {
    for (const card of this.all()) if (card.hasAttribute('data-gone')) this.drop(card);
  }

  drop(card) { card.remove(); }
}
