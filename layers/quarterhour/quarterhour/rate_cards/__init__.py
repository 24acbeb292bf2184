"""Rate cards: what commission an agency pays, by product category and place, from an instant on."""
