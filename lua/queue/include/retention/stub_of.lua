-- stub_of(key, own, why, linked): the arguments of the HSET that writes the stub of a deleted task. own: the fields of its
-- record, as remove_tasks reads them. linked: the stub is a link.
local function stub_of(key, own, why, linked)
  local settled = own[2] or own[10] or nil
  local stub = { key, 'gone', why, 'rid', own[1], settled and 'settled', settled }
  if own[9] then stub[#stub + 1], stub[#stub + 2] = 'earlier', own[9] end
  if linked then stub[#stub + 1], stub[#stub + 2] = 'link', own[5] end
  if linked and own[11] then stub[#stub + 1], stub[#stub + 2] = 'pruned', own[11] end
  return stub
end
