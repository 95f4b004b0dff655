-- acted_by(): who has made this call, and who has sent it for that person, as words of an event, each behind a space.
local function acted_by()
  return (actor ~= '' and ' by=' .. actor or '') .. (caller ~= '' and ' caller=' .. caller or '')
end
