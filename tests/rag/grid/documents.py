"""Documents for tests of grids: contracts, an invoice, a CV, a paper and a report, in three languages."""

CONTRACT = """\
# Service Agreement

This Service Agreement (the "Agreement") is made by and between Brunn Mills Ltd and Aldenburg Castle Trust.

## 1. Term

1.1 This Agreement commences on 1 May 2024 and expires on 30 April 2026, unless it is terminated earlier.

1.2 Either party may terminate this Agreement by giving ninety (90) days' prior written notice to the other.

1.3 This Agreement shall not be automatically renewed.

## 2. Fees

2.1 The Trust pays a monthly fee of EUR 1,200 within thirty days of each invoice.

## 3. Liability

3.1 The aggregate liability of either party under this Agreement is limited to EUR 250,000 per year.

3.2 Nothing in this Agreement excludes liability for fraud.

## 4. General

4.1 This Agreement is governed by the laws of Ireland, and the courts of Dublin have jurisdiction.

4.2 Notices are sent to the addresses above. The parties have signed on 22 April 2024.
"""
CONTRACT_KO = """\
# 용역 계약서

주식회사 한빛소프트(이하 "갑"이라 한다)와 주식회사 다온시스템(이하 "을"이라 한다)은 다음과 같이
계약을 체결한다.

## 제1조 (계약 기간)

본 계약의 계약 기간은 2024년 3월 1일부터 2025년 2월 28일까지로 한다.

## 제2조 (갱신)

본 계약은 자동으로 갱신되지 않는다.

## 제3조 (대금)

갑은 을에게 용역 대금으로 총 48,000,000원을 지급한다.

## 제4조 (해지)

당사자는 30일 전에 서면으로 통지하여 본 계약을 해지할 수 있다.

## 제5조 (손해배상)

을의 손해배상액은 용역 대금 총액을 초과하지 않는다.

## 제6조 (준거법)

본 계약의 준거법은 대한민국 법률로 한다.
"""
INVOICE_JA = """\
# 請求書

請求書番号：INV-2024-0517
発行日：2024年5月17日
お支払期限：2024年6月30日

請求先：株式会社アルデン 御中
請求元：ブルン製作所株式会社

| 品目 | 数量 | 単価 | 金額 |
|---|---|---|---|
| 水車の点検 | 2 | 45,000円 | 90,000円 |
| 部品の交換 | 1 | 30,000円 | 30,000円 |

| 項目 | 金額 |
|---|---|
| 小計 | 120,000円 |
| 消費税（10%） | 12,000円 |
| 合計金額 | 132,000円 |

上記の金額を期限までに銀行振込でお支払いください。
"""
CV = """\
# Curriculum Vitae

Name: Mara Lindqvist
Email: mara@example.org
Phone: +46 8 123 456 78

## Profile

Millwright with 12 years of professional experience in restoring water mills.

## Work

Current position: Head of restoration, Brunn Mills Ltd

## Education

Degree: MSc in Mechanical Engineering, Chalmers University, 2011

## Skills

- Timber framing
- Hydraulics
- AutoCAD

Languages: Swedish, English, German
"""
PAPER = """\
# Finding the Keeper: Retrieval in Lighthouse Logs

Ada Brunn, Carl Dorn, Elsa Frey

## Abstract

We address the problem of finding entries in handwritten lighthouse logs. We propose KeeperNet, a retriever
that reads tides with words. We evaluate on the Aldenburg corpus of 41,000 log entries. Our results show that
KeeperNet improves recall from 61% to 78%.

## 1 Introduction

Lighthouse logs were kept for two hundred years.
"""
REPORT = """\
# Aldenburg Mills plc

For the quarterly period ended June 30, 2024

## Statement of income

(In thousands, except per share amounts)

| | Three Months Ended June 30, 2023 | Three Months Ended June 30, 2024 | Six Months Ended June 30, 2024 |
|---|---|---|---|
| Net revenue | 4,100 | 4,600 | 9,050 |
| Cost of revenue | 2,000 | 2,250 | 4,400 |
| Operating profit (loss) | (120) | 310 | 540 |

We manage our business through the following segments:

- Grain
- Timber
- Power

As of June 30, 2024, 12,400,000 shares of common stock were outstanding. No dividend was paid in the quarter.
"""
