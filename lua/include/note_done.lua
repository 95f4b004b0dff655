-- note_done(conf, verb, word): leave a word for the same call, sent again: one that is late must not undo what came after it.
local function note_done(conf, verb, word)
  if rid == '' then return end
  hold_once(conf, 'done:' .. verb .. ':' .. rid, word, WAIT_rid_ms)
  sweep_once(conf, 10)
end
